-- Makes this session flush its statistics at the end of this transaction, so that it is known which of its transactions a
-- snapshot includes. Postgres 15 and later. A session flushes its count of commits only if it has touched a table, hence the
-- table.
SELECT /* pulley:measure */ pg_stat_force_next_flush() FROM pg_catalog.pg_database WHERE datname = current_database()
