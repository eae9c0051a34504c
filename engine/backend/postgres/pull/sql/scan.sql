-- Everything that the running instances of a shard have in the ledger: one row for an instance without
-- any, else one for each node run. $1 shard, $2 first and $3 last instance.
SELECT i.id, i.workflow, i.input, l.node, l.path, l.done, l.result, l.failure
FROM (
    SELECT id, workflow, input FROM instances
    WHERE shard = $1 AND status = 'running' AND id BETWEEN $2::uuid AND $3::uuid
    ORDER BY id OFFSET 0
) i
LEFT JOIN LATERAL (
    SELECT l.node, l.path, l.done, l.result, l.failure
    FROM ledger l
    WHERE l.shard = $1 AND l.instance_id = i.id
    OFFSET 0
) l ON true
