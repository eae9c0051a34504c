-- How many completions each table tells of, and how many runs are queued.
SELECT 'queue', count(*) FROM queue
UNION ALL
SELECT 'inbox', count(*) FROM inbox
UNION ALL
SELECT 'readiness', coalesce(sum(completed), 0)::bigint FROM readiness
