-- The values of variables that some events need. $1 shard; $2 ord, $3 instance, $4 variable, $5 path.
SELECT n.ord, i.variable, i.path, i.value
FROM unnest($2::int[], $3::uuid[], $4::int[], $5::text[]) AS n (ord, instance_id, variable, path)
JOIN inbox i ON i.shard = $1 AND i.instance_id = n.instance_id AND i.variable = n.variable
    AND i.path = n.path AND i.element = -1
