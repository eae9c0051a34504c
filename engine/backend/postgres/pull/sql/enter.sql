-- Enters runnable node runs into the ledger: leased, or due after a wait.
-- $1 shard; $2 instance, $3 node, $4 path, $5 args, $6 wait in µs, $7 leased; $8 owner, $9 lease in µs
WITH entered AS (
    INSERT INTO ledger (shard, instance_id, node, path, status, due_at, token, attempt, owner, args)
    SELECT $1, e.instance_id, e.node, e.path,
        CASE WHEN e.leased THEN 'leased' ELSE 'queued' END,
        clock_timestamp() + CASE WHEN e.leased THEN $9::bigint ELSE e.wait END * interval '1 microsecond',
        nextval('tokens'), 1, CASE WHEN e.leased THEN $8::text END, e.args
    FROM unnest($2::uuid[], $3::int[], $4::text[], $5::json[], $6::bigint[], $7::bool[])
        AS e (instance_id, node, path, args, wait, leased)
    RETURNING instance_id, node, path, status, token
)
SELECT instance_id, node, path, token FROM entered WHERE status = 'leased'
