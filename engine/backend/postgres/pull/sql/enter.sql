-- Puts runnable node runs into the ledger, the first of them leased.
-- $1 shard; $2 instance, $3 node, $4 path, $5 args; $6 owner, $7 most, $8 lease in µs
INSERT INTO ledger (shard, instance_id, node, path, status, due_at, token, attempt, owner, args)
SELECT $1, e.instance_id, e.node, e.path,
    CASE WHEN e.place <= $7::bigint THEN 'leased' ELSE 'queued' END,
    clock_timestamp() + CASE WHEN e.place <= $7::bigint THEN $8::bigint ELSE 0 END * interval '1 microsecond',
    nextval('tokens'), 1, CASE WHEN e.place <= $7::bigint THEN $6::text END, e.args
FROM (
    SELECT u.*, row_number() OVER () AS place
    FROM unnest($2::uuid[], $3::int[], $4::text[], $5::json[]) AS u (instance_id, node, path, args)
) e
RETURNING instance_id, node, path, status, token
