-- Returns values that events need, with what was appended to them.
-- $1 shard; $2 ord, $3 instance, $4 variable, $5 path.
SELECT n.ord, n.variable, n.path, i.element, i.value
FROM unnest($2::int[], $3::uuid[], $4::int[], $5::text[]) AS n (ord, instance_id, variable, path)
CROSS JOIN LATERAL (
    SELECT i.element, i.value FROM inbox i
    WHERE i.shard = $1 AND i.instance_id = n.instance_id AND i.variable = n.variable AND i.path = n.path
    OFFSET 0
) i
