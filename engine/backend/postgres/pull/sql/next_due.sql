-- Returns the time until the next node run of a shard is due, in µs; negative if one is.
-- $1 shard; $2 workflows to skip.
SELECT (extract(epoch FROM d.due_at - clock_timestamp()) * 1000000)::bigint
FROM ledger d
WHERE d.shard = $1 AND d.status <> 'completed' AND d.due_at > '-infinity'
    AND (cardinality($2::int[]) = 0 OR NOT EXISTS (
        SELECT FROM instances i WHERE i.shard = $1 AND i.id = d.instance_id AND i.workflow = ANY ($2::int[]) OFFSET 0
    ))
ORDER BY d.due_at, d.token
LIMIT 1
