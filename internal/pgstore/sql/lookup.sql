-- Reads instances. $1 shard, $2 ids.
SELECT i.id, i.status, i.result, i.failure
FROM unnest($2::uuid[]) AS w (id)
CROSS JOIN LATERAL (
    SELECT i.id, i.status, i.result, i.failure FROM instances i WHERE i.shard = $1 AND i.id = w.id OFFSET 0
) i
