-- How long until the next node run of a shard is due, in µs; negative if one is. $1 shard.
SELECT (extract(epoch FROM d.due_at - clock_timestamp()) * 1000000)::bigint
FROM queue d
CROSS JOIN LATERAL (
    SELECT i.status FROM instances i WHERE i.shard = $1 AND i.id = d.instance_id OFFSET 0
) i
WHERE d.shard = $1 AND d.due_at > '-infinity' AND i.status = 'running' -- by the index of times, which is only for who names one
ORDER BY d.due_at
LIMIT 1
