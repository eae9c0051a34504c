-- Returns values that events need, each with what was appended to it (elements from 0).
-- $1 shard; $2 number, $3 instance, $4 variable, $5 path.
SELECT n.number, i.element, i.value
FROM unnest($2::int[], $3::uuid[], $4::int[], $5::text[]) AS n (number, instance_id, variable, path)
CROSS JOIN LATERAL (
    SELECT i.element, i.value FROM inbox i
    WHERE i.shard = $1 AND i.instance_id = n.instance_id AND i.variable = n.variable AND i.path = n.path
    OFFSET 0
) i
