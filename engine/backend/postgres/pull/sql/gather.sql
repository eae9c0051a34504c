-- Returns the values that arrived at aggregates. $1 shard; $2 ord, $3 instance, $4 variable, $5 path.
SELECT o.ord, i.element, i.value
FROM unnest($2::int[], $3::uuid[], $4::int[], $5::text[]) AS o (ord, instance_id, variable, path)
CROSS JOIN LATERAL (
    SELECT i.element, i.value FROM inbox i
    WHERE i.shard = $1 AND i.instance_id = o.instance_id AND i.variable = o.variable AND i.path = o.path
        AND i.element >= 0
    OFFSET 0
) i
