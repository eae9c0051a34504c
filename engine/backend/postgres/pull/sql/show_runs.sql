-- Reads the node runs of an instance that have not ended. $1 shard, $2 instance, $3 most.
SELECT q.node, q.path, q.attempt, q.redeliveries + (q.status = 'leased')::int, coalesce(CASE WHEN q.status = 'leased' THEN q.owner END, ''), q.status = 'leased', q.due_at
FROM ledger q
WHERE q.shard = $1 AND q.instance_id = $2 AND q.status <> 'completed'
ORDER BY q.node, q.path
LIMIT $3
