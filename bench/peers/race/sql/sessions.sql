-- Counts the client sessions in some databases. $1: their names.
SELECT count(*)
FROM pg_stat_activity a
WHERE a.datname = ANY ($1) AND coalesce(a.backend_type, 'client backend') = 'client backend'
