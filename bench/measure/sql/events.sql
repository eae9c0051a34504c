-- Counts the workload's sessions that are not idle, by what they wait for; null: nothing. $1: the prefix of their application
-- names; empty: all of the database.
SELECT /* pulley:measure */ a.wait_event_type || ':' || a.wait_event, count(*)
FROM pg_stat_activity a
WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND starts_with(a.application_name, $1)
    AND coalesce(a.backend_type, 'client backend') = 'client backend' AND a.state <> 'idle'
GROUP BY 1
