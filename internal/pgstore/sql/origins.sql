-- Reads what instances were created from. $1 shard, $2 instances.
SELECT i.id, w.hash, i.input
FROM unnest($2::uuid[]) AS c (id)
CROSS JOIN LATERAL (
    SELECT r.id, r.workflow, r.input FROM instances r WHERE r.shard = $1 AND r.id = c.id OFFSET 0
) i
CROSS JOIN LATERAL (
    SELECT d.hash FROM workflows d WHERE d.id = i.workflow OFFSET 0
) w
