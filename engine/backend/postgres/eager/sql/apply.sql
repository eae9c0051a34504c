-- Applies the plans of events. The caller has excluded stale ones. Arrays of one group have the same length. Rows are looked up
-- by their whole key, one by one, and changed by their ctid, in the order of the arrays, which are sorted, so that commits cannot
-- deadlock.
--
-- A row serves one round of the loops around its node, and a run is queued once: another path, or a run that has a token, makes
-- path null, which the table refuses.
--
-- $1 shard
-- ended runs: $2 instance, $3 node, $4 place, $5 wait before a retry in µs or null
-- expected nodes: $6 instance, $7 node, $8 place, $9 required or 0
-- variables: $10 instance, $11 variable, $12 scope, $13 element, $14 value
-- elements of aggregates: $15 instance, $16 node, $17 place, $18 element, $19 payload
-- arrivals: $20 instance, $21 node, $22 place, $23 path, $24 required or 0, $25 hard, $26 soft
-- ready runs: $27 instance, $28 node, $29 place, $30 path, $31 required, $32 wait in µs, $33 leased, $34 args
-- ends: $35 instance, $36 status, $37 result, $38 failure
-- grant: $39 owner, $40 lease in µs
WITH done AS (
    UPDATE node_ready_state r
    SET is_completed = d.wait IS NULL,
        is_queued = r.is_queued AND d.wait IS NULL,
        attempt = r.attempt + CASE WHEN d.wait IS NULL THEN 0 ELSE 1 END,
        redeliveries = 0,
        due_at = clock_timestamp() + coalesce(d.wait, 0) * interval '1 microsecond'
    FROM (
        SELECT r.at, c.wait
        FROM unnest($2::uuid[], $3::int[], $4::text[], $5::bigint[]) AS c (instance_id, node, place, wait)
        CROSS JOIN LATERAL (
            SELECT r.ctid AS at FROM node_ready_state r
            WHERE r.shard = $1 AND r.instance_id = c.instance_id AND r.node = c.node AND r.place = c.place
            OFFSET 0
        ) r
    ) d
    WHERE r.ctid = d.at
), expected AS (
    INSERT INTO node_ready_state (shard, instance_id, node, place, deps_required, is_completed)
    SELECT $1, e.instance_id, e.node, e.place, nullif(e.required, 0), e.node = 0
    FROM unnest($6::uuid[], $7::int[], $8::text[], $9::int[]) AS e (instance_id, node, place, required)
    ON CONFLICT (shard, instance_id, node, place) DO NOTHING
), known AS (
    INSERT INTO instance_eval_context (shard, instance_id, variable, scope, element, value)
    SELECT $1, v.instance_id, v.variable, v.scope, v.element, v.value
    FROM unnest($10::uuid[], $11::int[], $12::text[], $13::int[], $14::json[]) AS v (instance_id, variable, scope, element, value)
    ON CONFLICT (shard, instance_id, variable, scope, element) DO UPDATE SET value = excluded.value
), pushed AS (
    INSERT INTO node_pending_context (shard, instance_id, node, place, element, payload)
    SELECT $1, p.instance_id, p.node, p.place, p.element, p.payload
    FROM unnest($15::uuid[], $16::int[], $17::text[], $18::int[], $19::json[]) AS p (instance_id, node, place, element, payload)
), arrived AS (
    INSERT INTO node_ready_state AS r (shard, instance_id, node, place, path, deps_required, deps_satisfied, soft)
    SELECT $1, a.instance_id, a.node, a.place, a.path, nullif(max(a.required), 0), sum(a.hard) + max(a.soft), max(a.soft) > 0
    FROM unnest($20::uuid[], $21::int[], $22::text[], $23::text[], $24::int[], $25::int[], $26::int[])
        AS a (instance_id, node, place, path, required, hard, soft)
    GROUP BY a.instance_id, a.node, a.place, a.path
    ORDER BY a.instance_id, a.node, a.place, a.path
    ON CONFLICT (shard, instance_id, node, place) DO UPDATE
        SET path = CASE WHEN r.path IN ('', excluded.path) THEN excluded.path END,
            deps_required = coalesce(excluded.deps_required, r.deps_required),
            deps_satisfied = r.deps_satisfied + excluded.deps_satisfied - CASE WHEN r.soft AND excluded.soft THEN 1 ELSE 0 END,
            soft = r.soft OR excluded.soft
        WHERE NOT (r.path = excluded.path AND r.soft AND excluded.soft AND excluded.deps_satisfied = 1)
    RETURNING instance_id, node, path, deps_required, deps_satisfied
), queued AS (
    INSERT INTO node_ready_state AS r (shard, instance_id, node, place, path, deps_required, deps_satisfied, is_queued, due_at, token, owner, args)
    SELECT $1, q.instance_id, q.node, q.place, q.path, q.required, q.required, q.leased,
        clock_timestamp() + CASE WHEN q.leased THEN $40::bigint ELSE q.wait END * interval '1 microsecond',
        nextval('tokens'), CASE WHEN q.leased THEN $39::text END, q.args
    FROM unnest($27::uuid[], $28::int[], $29::text[], $30::text[], $31::int[], $32::bigint[], $33::boolean[], $34::json[])
        AS q (instance_id, node, place, path, required, wait, leased, args)
    ON CONFLICT (shard, instance_id, node, place) DO UPDATE
        SET path = CASE WHEN r.token IS NULL AND r.path IN ('', excluded.path) THEN excluded.path END,
            deps_required = excluded.deps_required, deps_satisfied = excluded.deps_satisfied,
            is_queued = excluded.is_queued, due_at = excluded.due_at, token = excluded.token, owner = excluded.owner,
            args = excluded.args
    RETURNING instance_id, node, path, is_queued, token
), ended AS (
    UPDATE instances i
    SET status = e.status, result = e.result, failure = e.failure, ended_at = clock_timestamp()
    FROM (
        SELECT u.*, r.at
        FROM unnest($35::uuid[], $36::text[], $37::json[], $38::json[])
            AS u (instance_id, status, result, failure)
        CROSS JOIN LATERAL (
            SELECT r.ctid AS at, r.status FROM instances r WHERE r.shard = $1 AND r.id = u.instance_id FOR UPDATE
        ) r
        WHERE r.status = 'running'
    ) e
    WHERE i.ctid = e.at
    RETURNING e.instance_id
)
SELECT 'counted' AS what, instance_id, node, path, 0::bigint AS token, deps_required, deps_satisfied FROM arrived
UNION ALL
SELECT 'leased', instance_id, node, path, token, 0, 0 FROM queued WHERE is_queued
UNION ALL
SELECT 'ended', instance_id, 0, '', 0, 0, 0 FROM ended
