-- How many completions the events tell of, and how many instances run and have ended.
SELECT 'events', count(*) FROM events
UNION ALL
SELECT 'instances that run', count(*) FROM instances WHERE status = 'running'
UNION ALL
SELECT 'instances that ended', count(*) FROM instances WHERE status = 'completed'
