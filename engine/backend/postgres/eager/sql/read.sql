-- Returns values that events need, and what was appended to them.
-- $1 shard; $2 ord, $3 instance, $4 variable, $5 scope.
SELECT n.ord, n.variable, n.scope, v.element, v.value
FROM unnest($2::int[], $3::uuid[], $4::int[], $5::text[]) AS n (ord, instance_id, variable, scope)
CROSS JOIN LATERAL (
    SELECT v.element, v.value FROM instance_eval_context v
    WHERE v.shard = $1 AND v.instance_id = n.instance_id AND v.variable = n.variable AND v.scope = n.scope
    OFFSET 0
) v
