-- How long until the next node run of a shard is due, in µs; negative if one is. Rows of an instance that has ended wait to be swept.
-- $1 shard.
SELECT (extract(epoch FROM q.due_at - clock_timestamp()) * 1000000)::bigint
FROM {table} q
CROSS JOIN LATERAL (
    SELECT i.status FROM instances i WHERE i.shard = $1 AND i.id = q.instance_id OFFSET 0
) i
WHERE q.shard = $1 AND {ready} AND q.due_at > '-infinity' AND i.status = 'running' -- the index of times is used only where a time is named
ORDER BY {due}
LIMIT 1
