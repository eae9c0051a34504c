-- Counts the workload's sessions in a transaction, those of them that wait for a locked row, and the longest such wait so
-- far in microseconds (0 before Postgres 14). $1: the prefix of their application names; empty: all of the database.
SELECT /* pulley:measure */
    count(*) FILTER (WHERE a.state <> 'idle'),
    count(*) FILTER (WHERE a.wait_event_type = 'Lock' AND a.wait_event IN ('transactionid', 'tuple')),
    coalesce(max(1e6 * extract(epoch FROM clock_timestamp() - w.since))
        FILTER (WHERE a.wait_event_type = 'Lock' AND a.wait_event IN ('transactionid', 'tuple')), 0)::bigint
FROM pg_stat_activity a
LEFT JOIN LATERAL (
    SELECT min((to_jsonb(l) ->> 'waitstart')::timestamptz) AS since FROM pg_locks l WHERE l.pid = a.pid AND NOT l.granted
) w ON a.wait_event_type = 'Lock'
WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND starts_with(a.application_name, $1)
    AND coalesce(a.backend_type, 'client backend') = 'client backend'
