-- Commits the plans of completions, of new instances and of runs that go on, all of one shard.
-- ord numbers the events; of a completion that is stale, and of an instance that is there already,
-- nothing takes place. Arrays that belong together have the same length. Rows are met in the order
-- of the arrays, which are sorted, so that two commits never wait for one another in a circle.
--
-- Rows are looked up by their whole key, one by one, and changed by their address: see the package's
-- description for why a plain join is not to be trusted here. A row that another transaction has just
-- changed, as the extension of its lease does, is locked in its new version but not seen by the update;
-- its completion comes back as moved, to be offered once more. Rows of runs that have completed are
-- locked by who removes them only, after all other locks and so in no order, but without waiting.
--
-- An arrival whose required is 0 is at a barrier that has been opened with its count. Should its row not
-- be there, the count is one that is never reached, and the arrival comes back as unopened.
--
-- $1 shard
-- completions: $2 ord, $3 instance, $4 node, $5 path, $6 token, $7 wait before a retry in µs or null
-- new instances: $8 ord, $9 instance, $10 workflow, $11 input, $12 status, $13 result, $14 failure
-- runs that go on: $15 ord
-- values: $16 ord, $17 instance, $18 variable, $19 path, $20 element, $21 value
-- arrivals: $22 ord, $23 instance, $24 node, $25 path, $26 required, $27 hard, $28 soft
-- node runs: $29 ord, $30 instance, $31 node, $32 path, $33 workflow, $34 args, $35 wait before it is due in µs
-- ends: $36 ord, $37 instance, $38 status, $39 untidy, $40 result, $41 failure, $42 token
-- grant: $43 owner, $44 most, $45 lease in µs
-- $46 whether the counts of barriers that are not full are wanted, too
WITH offered AS MATERIALIZED (
    SELECT c.ord, c.wait, q.at, q.attempt
    FROM unnest($2::int[], $3::uuid[], $4::int[], $5::text[], $6::bigint[], $7::bigint[])
        AS c (ord, instance_id, node, path, token, wait)
    CROSS JOIN LATERAL (
        SELECT i.status FROM instances i WHERE i.shard = $1 AND i.id = c.instance_id OFFSET 0
    ) i
    CROSS JOIN LATERAL (
        SELECT q.ctid AS at, q.token, q.attempt
        FROM queue q
        WHERE q.shard = $1 AND q.instance_id = c.instance_id AND q.node = c.node AND q.path = c.path
            AND q.status = 'leased'
        FOR UPDATE
    ) q
    WHERE q.token = c.token AND i.status = 'running'
), done AS (
    UPDATE queue q
    SET status = CASE WHEN o.wait IS NULL THEN 'completed' ELSE 'queued' END,
        attempt = q.attempt + CASE WHEN o.wait IS NULL THEN 0 ELSE 1 END,
        due_at = clock_timestamp() + coalesce(o.wait, 0) * interval '1 microsecond'
    FROM offered o
    WHERE q.ctid = o.at
    RETURNING o.ord
), born AS (
    INSERT INTO instances (shard, id, workflow, input, status, result, failure, ended_at)
    SELECT $1, b.id, b.workflow, b.input, b.status, b.result, b.failure,
        CASE WHEN b.status <> 'running' THEN clock_timestamp() END
    FROM unnest($9::uuid[], $10::int[], $11::json[], $12::text[], $13::json[], $14::json[])
        AS b (id, workflow, input, status, result, failure)
    ON CONFLICT (shard, id) DO NOTHING
    RETURNING id
), live AS (
    SELECT ord FROM done
    UNION ALL
    SELECT n.ord FROM unnest($8::int[], $9::uuid[]) AS n (ord, id) JOIN born USING (id)
    UNION ALL
    SELECT ord FROM unnest($15::int[]) AS f (ord)
), valued AS (
    INSERT INTO inbox (shard, instance_id, variable, path, element, value)
    SELECT $1, v.instance_id, v.variable, v.path, v.element, v.value
    FROM unnest($16::int[], $17::uuid[], $18::int[], $19::text[], $20::int[], $21::json[])
        AS v (ord, instance_id, variable, path, element, value)
    WHERE (v.ord IN (SELECT ord FROM live)) IS TRUE
    ON CONFLICT (shard, instance_id, variable, path, element) DO UPDATE SET value = excluded.value
), arrived AS (
    INSERT INTO readiness AS r (shard, instance_id, node, path, required, completed, soft)
    SELECT $1, a.instance_id, a.node, a.path, coalesce(nullif(max(a.required), 0), 2147483647), sum(a.hard) + max(a.soft), max(a.soft) > 0
    FROM unnest($22::int[], $23::uuid[], $24::int[], $25::text[], $26::int[], $27::int[], $28::int[])
        AS a (ord, instance_id, node, path, required, hard, soft)
    WHERE (a.ord IN (SELECT ord FROM live)) IS TRUE
    GROUP BY a.instance_id, a.node, a.path
    ORDER BY a.instance_id, a.node, a.path
    ON CONFLICT (shard, instance_id, node, path) DO UPDATE
        SET completed = r.completed + excluded.completed - CASE WHEN r.soft AND excluded.soft THEN 1 ELSE 0 END,
            soft = r.soft OR excluded.soft
        WHERE excluded.completed > CASE WHEN r.soft AND excluded.soft THEN 1 ELSE 0 END
    RETURNING instance_id, node, path, required, completed
), queued AS (
    INSERT INTO queue (shard, instance_id, node, path, status, due_at, token, attempt, workflow, owner, args)
    SELECT $1, e.instance_id, e.node, e.path,
        CASE WHEN e.place <= $44::bigint THEN 'leased' ELSE 'queued' END,
        clock_timestamp() + CASE WHEN e.place <= $44::bigint THEN $45::bigint ELSE e.wait END * interval '1 microsecond',
        nextval('tokens'), 1, e.workflow, CASE WHEN e.place <= $44::bigint THEN $43::text END, e.args
    FROM (
        SELECT q.*, CASE WHEN q.wait = 0 THEN count(*) FILTER (WHERE q.wait = 0) OVER (ROWS UNBOUNDED PRECEDING) END AS place
        FROM unnest($29::int[], $30::uuid[], $31::int[], $32::text[], $33::int[], $34::json[], $35::bigint[])
            AS q (ord, instance_id, node, path, workflow, args, wait)
        WHERE (q.ord IN (SELECT ord FROM live)) IS TRUE
    ) e
    RETURNING instance_id, node, path, status, token
), ended AS (
    UPDATE instances i
    SET status = e.status, untidy = e.untidy, result = e.result, failure = e.failure, ended_by = e.token,
        ended_at = clock_timestamp()
    FROM (
        SELECT DISTINCT ON (u.instance_id) u.*, r.at
        FROM unnest($36::int[], $37::uuid[], $38::text[], $39::boolean[], $40::json[], $41::json[], $42::bigint[])
            AS u (ord, instance_id, status, untidy, result, failure, token)
        CROSS JOIN LATERAL (
            SELECT r.ctid AS at, r.status FROM instances r WHERE r.shard = $1 AND r.id = u.instance_id FOR UPDATE
        ) r
        WHERE (u.ord IN (SELECT ord FROM live)) IS TRUE AND r.status = 'running'
        ORDER BY u.instance_id, u.ord
    ) e
    WHERE i.ctid = e.at
    RETURNING e.ord
)
SELECT 'live' AS what, ord, NULL::uuid AS instance_id, 0 AS node, '' AS path, 0::bigint AS token FROM live
UNION ALL
SELECT CASE WHEN required = 2147483647 THEN 'unopened' ELSE 'reached' END, required, instance_id, node, path, completed
FROM arrived WHERE $46::boolean OR completed = required OR required = 2147483647
UNION ALL
SELECT 'leased', 0, instance_id, node, path, token FROM queued WHERE status = 'leased'
UNION ALL
SELECT 'queued', count(*)::int, NULL, 0, '', 0 FROM queued WHERE status = 'queued'
UNION ALL
SELECT 'moved', ord, NULL, 0, '', 0 FROM offered WHERE ord NOT IN (SELECT ord FROM done)
UNION ALL
SELECT 'ended', ord, NULL, 0, '', 0 FROM ended
