-- Raises the join's counter: $1 shard, $2 instance, $3 node, $4 its predecessors.
INSERT INTO readiness AS r (shard, instance_id, node, path, required, completed, soft)
VALUES ($1::smallint, $2::uuid, $3::int, '', $4::int, 1, false)
ON CONFLICT (shard, instance_id, node, path) DO UPDATE SET completed = r.completed + excluded.completed
