-- Returns all ledger rows of instances. $1 shard; $2 instances.
SELECT c.ord::int, l.node, l.path, l.done, l.result, l.failure
FROM unnest($2::uuid[]) WITH ORDINALITY AS c (id, ord)
CROSS JOIN LATERAL (
    SELECT l.node, l.path, l.done, l.result, l.failure
    FROM ledger l
    WHERE l.shard = $1 AND l.instance_id = c.id
    OFFSET 0
) l
