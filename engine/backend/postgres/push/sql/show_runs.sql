-- Reads the node runs of an instance that have not ended. $1 shard, $2 instance, $3 most.
SELECT q.node, q.path, q.attempt, q.redeliveries + (q.owner IS NOT NULL)::int,
    coalesce((SELECT o.name FROM owners o WHERE o.id = q.owner), ''), q.owner IS NOT NULL, q.due_at
FROM queue q
WHERE q.shard = $1 AND q.instance_id = $2
ORDER BY q.node, q.path
LIMIT $3
