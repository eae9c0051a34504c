-- Reports whether a session's transaction still keeps row versions, and of how many transactions. $1 process id.
SELECT backend_xmin IS NOT NULL, coalesce(age(backend_xmin), 0) FROM pg_stat_activity WHERE pid = $1
