-- Returns the inputs of running instances. $1 shard; $2 instances.
SELECT c.ord::int, i.workflow, i.input
FROM unnest($2::uuid[]) WITH ORDINALITY AS c (id, ord)
CROSS JOIN LATERAL (
    SELECT i.workflow, i.input FROM instances i WHERE i.shard = $1 AND i.id = c.id AND i.status = 'running' OFFSET 0
) i
