SELECT count(*)::float8 FROM pg_stat_activity WHERE starts_with(application_name, $1)
