-- Reads all counters in one statement, so that they are of one moment and cost one transaction. The mark after SELECT
-- distinguishes the measuring session's statements from the workload's. to_jsonb serves servers whose views have different
-- columns.
-- $1: the schema whose tables are counted; empty: all. $2: the prefix of the workload's application names; empty: all sessions
-- of this database are the workload's. $3: the application name of who samples.
SELECT /* pulley:measure */
    jsonb_build_object(
        'version_num', current_setting('server_version_num')::int,
        'backend_pid', pg_backend_pid(),
        'in_recovery', pg_is_in_recovery(),
        'wal_bytes', CASE WHEN NOT pg_is_in_recovery()
            THEN pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') END,
        'next_xid', pg_snapshot_xmax(pg_current_snapshot())::text,
        'database', (SELECT to_jsonb(d) FROM pg_stat_database d WHERE d.datname = current_database()),
        'other_sessions', (SELECT sum((to_jsonb(d) ->> 'sessions')::bigint)
            FROM pg_stat_database d WHERE d.datname <> current_database()),
        'maintenance', (SELECT coalesce(sum(t.vacuum_count + t.autovacuum_count + t.analyze_count
                + t.autoanalyze_count), 0) FROM pg_stat_all_tables t),
        'strangers', (SELECT count(*) FROM pg_stat_activity a
            -- Without the privilege the type is hidden; then sessions with a user and a database count.
            WHERE a.usesysid IS NOT NULL AND a.datid IS NOT NULL AND a.pid <> pg_backend_pid()
                AND coalesce(a.backend_type, 'client backend') = 'client backend'
                AND NOT CASE WHEN $2 = '' THEN a.datname = current_database()
                    ELSE starts_with(coalesce(a.application_name, ''), $2) END
                AND coalesce(a.application_name, '') <> $3),
        'statements_schema', (SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
            WHERE e.extname = 'pg_stat_statements'),
        'track_counts', current_setting('track_counts'),
        'tables', (SELECT coalesce(jsonb_agg(jsonb_build_object(
                'oid', t.relid::bigint,
                'seq_rows_read', t.seq_tup_read,
                'index_rows_fetched', coalesce(t.idx_tup_fetch, 0),
                'index_entries_read', coalesce((SELECT sum(i.idx_tup_read) FROM pg_stat_user_indexes i
                    WHERE i.relid = t.relid), 0),
                'inserted', t.n_tup_ins,
                'updated', t.n_tup_upd,
                'hot_updated', t.n_tup_hot_upd,
                'deleted', t.n_tup_del)), '[]')
            FROM pg_stat_user_tables t WHERE $1 IN ('', t.schemaname))
    )
