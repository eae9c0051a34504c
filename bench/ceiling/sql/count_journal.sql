-- How many completions the events tell of, and how many instances run and have ended.
SELECT 'events', (SELECT count(*) FROM events)
    + (SELECT coalesce(sum(get_byte(data, 0) << 8 | get_byte(data, 1)), 0)::bigint FROM packs) -- which begins with how many it holds
UNION ALL
SELECT 'instances that run', count(*) FROM instances WHERE status = 'running'
UNION ALL
SELECT 'instances that ended', count(*) FROM instances WHERE status = 'completed'
