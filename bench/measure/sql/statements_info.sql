-- Shows whether entries were evicted or reset, so that the sum of calls is too small. Postgres 14 and later.
SELECT /* pulley:measure */ i.dealloc, i.stats_reset::text FROM {schema}.pg_stat_statements_info i
