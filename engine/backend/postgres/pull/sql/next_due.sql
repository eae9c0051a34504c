-- How long until the next node run of a shard is due, in µs; negative if one is. $1 shard.
SELECT (extract(epoch FROM d.due_at - clock_timestamp()) * 1000000)::bigint
FROM ledger d
WHERE d.shard = $1 AND d.status <> 'completed'
ORDER BY d.due_at, d.token
LIMIT 1
