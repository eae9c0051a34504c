-- $1 shard, $2 instance.
SELECT i.id, i.status, i.result, i.failure
FROM unnest($2::uuid[]) AS w (id)
JOIN instances i ON i.shard = $1 AND i.id = w.id
