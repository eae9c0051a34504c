-- How many completions each table tells of, and how many runs are queued, and how many instances run and have ended.
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
