-- Whether entries were thrown out or reset, which would make the sum of calls fall short. Postgres 14 and later.
SELECT /* pulley:measure */ i.dealloc, i.stats_reset::text FROM {schema}.pg_stat_statements_info i
