-- WAL written by the server, in bytes.
SELECT /* pulley:claims */ pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint
