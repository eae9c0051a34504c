-- Queues runs: $1 shard, $2 instances, $3 node, $4 paths, $5 tokens, $6 the arguments of all.
INSERT INTO queue (shard, instance_id, node, path, due_at, token, attempt, owner, args)
SELECT $1::smallint, r.instance_id, $3::int, r.path, clock_timestamp(), r.token, 1, 1, $6::json
FROM unnest($2::uuid[], $4::text[], $5::bigint[]) AS r (instance_id, path, token)
