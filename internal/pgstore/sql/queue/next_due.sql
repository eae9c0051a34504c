-- Returns the time until the next node run of a shard is due, in µs; negative if one is. Rows of ended instances do not count.
-- $1 shard.
SELECT (extract(epoch FROM q.due_at - clock_timestamp()) * 1000000)::bigint
FROM {table} q
CROSS JOIN LATERAL (
    SELECT i.status FROM instances i WHERE i.shard = $1 AND i.id = q.instance_id OFFSET 0
) i
WHERE q.shard = $1 AND {ready} AND q.due_at > '-infinity' AND i.status = 'running' -- so that its index is used
ORDER BY {due}
LIMIT 1
