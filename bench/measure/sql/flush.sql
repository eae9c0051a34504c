-- Makes this session hand in its own statistics at the end of this transaction, so that it is known which of its
-- transactions a snapshot has seen. Postgres 15 and later. A session that has touched no table since it last handed in
-- does not hand in its count of commits either, hence the table.
SELECT /* pulley:measure */ pg_stat_force_next_flush() FROM pg_catalog.pg_database WHERE datname = current_database()
