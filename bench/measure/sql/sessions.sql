-- Counts the workload's connected sessions. A session flushes its statistics before it leaves this view.
-- $1: the prefix of the workload's application names; empty: all of the database. $2: the application name of who samples.
SELECT /* pulley:measure */ count(*)
FROM pg_stat_activity a
WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND starts_with(a.application_name, $1)
    AND a.application_name <> $2 AND coalesce(a.backend_type, 'client backend') = 'client backend'
