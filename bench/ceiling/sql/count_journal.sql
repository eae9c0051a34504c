-- Counts completions with events, and running and ended instances.
SELECT 'events', (SELECT count(*) FROM events)
    + (SELECT coalesce(sum(get_byte(data, 0) << 8 | get_byte(data, 1)), 0)::bigint FROM packs) -- a pack begins with its number of events
UNION ALL
SELECT 'instances that run', count(*) FROM instances WHERE status = 'running'
UNION ALL
SELECT 'instances that ended', count(*) FROM instances WHERE status = 'completed'
