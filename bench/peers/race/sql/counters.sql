-- Reads the server's counters of some databases. Postgres counts a commit for the opening of each session. to_jsonb serves
-- servers whose views have different columns: before 14 there are no sessions. $1: the databases' names.
SELECT coalesce(sum(d.xact_commit), 0)::bigint,
    coalesce(sum(d.xact_rollback), 0)::bigint,
    coalesce(sum((to_jsonb(d) ->> 'sessions')::bigint), 0)::bigint,
    pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint
FROM pg_stat_database d
WHERE d.datname = ANY ($1)
