-- Queues a ready run, leased: $1 shard, $2 instance, $3 node, $4 path, $5 token, $6 arguments.
INSERT INTO queue (shard, instance_id, node, path, due_at, token, attempt, owner, args)
VALUES ($1::smallint, $2::uuid, $3::int, $4::text, clock_timestamp() + interval '30 s', $5::bigint, 1, 1, $6::json)
