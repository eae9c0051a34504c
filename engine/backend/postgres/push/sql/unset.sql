-- Takes values of variables away, from an element on: -1 is the value itself, and what was appended to it
-- follows. See clear_queue.sql.
-- $1 shard; completions: $2 ord, $3 instance, $4 node, $5 path, $6 token; $7 ord of what is known to have taken place
-- values: $8 ord, $9 instance, $10 variable, $11 path, $12 first element
WITH live AS MATERIALIZED (
    SELECT c.ord
    FROM unnest($2::int[], $3::uuid[], $4::int[], $5::text[], $6::bigint[]) AS c (ord, instance_id, node, path, token)
    CROSS JOIN LATERAL (
        SELECT q.token, q.status, q.xmin AS by
        FROM queue q
        WHERE q.shard = $1 AND q.instance_id = c.instance_id AND q.node = c.node AND q.path = c.path
        OFFSET 0
    ) q
    WHERE q.token = c.token AND q.status = 'completed' AND q.by = pg_current_xact_id()::xid
    UNION ALL
    SELECT ord FROM unnest($7::int[]) AS k (ord)
), found AS MATERIALIZED (
    SELECT i.at
    FROM unnest($8::int[], $9::uuid[], $10::int[], $11::text[], $12::int[]) AS u (ord, instance_id, variable, path, first)
    CROSS JOIN LATERAL (
        SELECT i.ctid AS at FROM inbox i
        WHERE i.shard = $1 AND i.instance_id = u.instance_id AND i.variable = u.variable AND i.path = u.path
            AND i.element >= u.first
        OFFSET 0
    ) i
    WHERE (u.ord IN (SELECT ord FROM live)) IS TRUE
)
DELETE FROM inbox i USING found f WHERE i.ctid = f.at
