SELECT count(*) FILTER (WHERE pg_cancel_backend(pid))
FROM pg_stat_activity
WHERE starts_with(application_name, $1) AND state = 'active' AND pid <> pg_backend_pid()
