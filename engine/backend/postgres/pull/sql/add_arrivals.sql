-- Adds steps towards node runs.
-- $1 shard; $2 instance, $3 node, $4 path, $5 source, $6 required, $7 watched, $8 args, $9 wait in µs, $10 finish
INSERT INTO arrivals (shard, instance_id, node, path, source, required, watched, args, wait, finish)
SELECT $1, a.instance_id, a.node, a.path, a.source, a.required, a.watched, a.args, a.wait, a.finish
FROM unnest($2::uuid[], $3::int[], $4::text[], $5::text[], $6::int[], $7::bool[], $8::json[], $9::bigint[], $10::json[])
    AS a (instance_id, node, path, source, required, watched, args, wait, finish)
ON CONFLICT (shard, instance_id, node, path, source) DO NOTHING
