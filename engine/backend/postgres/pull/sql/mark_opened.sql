-- Enters opened barriers as completed: they have nothing to execute.
-- $1 shard; $2 instance, $3 node, $4 path
INSERT INTO ledger (shard, instance_id, node, path, status, due_at, token, attempt, done)
SELECT $1, m.instance_id, m.node, m.path, 'completed', clock_timestamp(), nextval('tokens'), 1, nextval('tokens')
FROM unnest($2::uuid[], $3::int[], $4::text[]) AS m (instance_id, node, path)
