-- Counts an instance's completed node runs, by node. $1 shard, $2 instance, $3 most rows to read.
SELECT q.node, count(*)::int
FROM (
    SELECT q.* FROM node_ready_state q WHERE q.shard = $1 AND q.instance_id = $2 LIMIT $3
) q
WHERE q.is_completed AND q.node <> 0
GROUP BY q.node
