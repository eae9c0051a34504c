-- Sets values. $1 shard; $2 instance, $3 variable, $4 path, $5 element, $6 value
INSERT INTO inbox (shard, instance_id, variable, path, element, value)
SELECT $1, v.instance_id, v.variable, v.path, v.element, v.value
FROM unnest($2::uuid[], $3::int[], $4::text[], $5::int[], $6::json[]) AS v (instance_id, variable, path, element, value)
ON CONFLICT (shard, instance_id, variable, path, element) DO UPDATE SET value = excluded.value
