-- $1 shard; $2 instance, $3 node, $4 path, $5 source, $6 required, $7 args, $8 finish
INSERT INTO arrivals (shard, instance_id, node, path, source, required, args, finish)
SELECT $1, a.instance_id, a.node, a.path, a.source, a.required, a.args, a.finish
FROM unnest($2::uuid[], $3::int[], $4::text[], $5::text[], $6::int[], $7::json[], $8::json[])
    AS a (instance_id, node, path, source, required, args, finish)
ON CONFLICT (shard, instance_id, node, path, source) DO NOTHING
