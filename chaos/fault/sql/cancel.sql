SELECT count(*) FILTER (WHERE pg_cancel_backend(pid))
FROM pg_stat_activity
WHERE datname = current_database() AND starts_with(application_name, $1) AND application_name <> $2 AND state = 'active'
