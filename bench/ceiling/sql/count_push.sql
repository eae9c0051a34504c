-- Counts the completions in each table, the queued runs, and running and ended instances.
SELECT 'queue', count(*) FROM queue
UNION ALL
SELECT 'inbox', count(*) FROM inbox
UNION ALL
SELECT 'elements', coalesce(sum(cardinality(places)), 0)::bigint FROM elements
UNION ALL
SELECT 'readiness', coalesce(sum(completed), 0)::bigint FROM readiness
UNION ALL
SELECT 'instances that run', count(*) FROM instances WHERE status = 'running'
UNION ALL
SELECT 'instances that ended', count(*) FROM instances WHERE status = 'completed'
