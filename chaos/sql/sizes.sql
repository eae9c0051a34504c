SELECT relname, pg_table_size(relid)::float8, pg_indexes_size(relid)::float8 FROM pg_stat_user_tables ORDER BY relname
