-- Applies the plans of completions, new instances and continuations of one shard, except stale completions and instances that
-- exist. ord numbers the events. Arrays of one group have the same length. Rows are locked in the order of the arrays, which are
-- sorted, so that commits cannot deadlock.
--
-- A part between --[ KIND and --] is removed if no event brings that kind (statements.go): unused, it costs a small batch as much
-- as used.
--
-- Rows are looked up by their whole key, one by one, and changed by their ctid: a plain join might read a whole shard. A row just
-- changed by another transaction, such as a lease renewal, may be missed by its ctid; its completion is returned for a retry. A
-- retried node run is queued anew, and takes turns.
--
-- An arrival with required 0 is at a barrier that was opened. If its row is missing, the new one's count is never reached:
-- 2147483647.
--
-- $1 shard; $2 backend, $3 slot, $4 number of the commit; grant: $5 owner, $6 lease in µs
-- $7 whether to return barriers that are not full, too
-- completions: $8 ord, $9 instance, $10 node, $11 path, $12 token, $13 wait before a retry in µs or null
-- new instances: $14 ord, $15 instance, $16 workflow, $17 input, $18 status, $19 result, $20 failure
-- values: $21 ord, $22 instance, $23 variable, $24 path, $25 element, $26 value
-- elements: $27 ord, $28 instance, $29 node, $30 path, $31 place, $32 value
-- arrivals: $33 ord, $34 instance, $35 node, $36 path, $37 required, $38 hard, $39 soft
-- node runs: $40 ord, $41 instance, $42 node, $43 path, $44 args, $45 when it is due, in µs from now; null: leased at once
-- ends: $46 ord, $47 instance, $48 status, $49 result, $50 failure
-- turns, of node runs: $51 workflow, if it takes turns with others, or null
--
-- Returns one row: the ords not applied; with completions, those of them to retry; with node runs, the tokens of leases, in
-- order; with ends, the ords that ended their instance; with arrivals, the barriers reached: instance, node, path, required,
-- completed.
WITH known AS (
    SELECT $1::smallint
--[ completions
), offered AS MATERIALIZED (
    SELECT c.ord, c.token, q.at
--[ retries
        , c.wait, i.workflow
--]
    FROM unnest($8::int[], $9::uuid[], $10::int[], $11::text[], $12::bigint[]
--[ retries
        , $13::bigint[]
--]
    ) AS c (ord, instance_id, node, path, token
--[ retries
        , wait
--]
    )
    CROSS JOIN LATERAL (
        SELECT i.status, i.workflow FROM instances i WHERE i.shard = $1 AND i.id = c.instance_id OFFSET 0
    ) i
    CROSS JOIN LATERAL (
        SELECT q.ctid AS at, q.token
        FROM queue q
        WHERE q.shard = $1 AND q.instance_id = c.instance_id AND q.node = c.node AND q.path = c.path
        OFFSET 0
    ) q
    WHERE q.token = c.token AND i.status = 'running'
), done AS (
    DELETE FROM queue q
    USING offered o
    WHERE q.ctid = o.at AND q.token = o.token
    RETURNING o.ord
--[ retries
        , o.wait, q.attempt, o.workflow, CASE WHEN o.wait IS NOT NULL THEN q.instance_id END AS instance_id, q.node,
        CASE WHEN o.wait IS NOT NULL THEN q.path END AS path, CASE WHEN o.wait IS NOT NULL THEN q.args END AS args
--]
--]
--[ instances
), created AS (
    INSERT INTO instances (shard, id, workflow, input, status, result, failure, ended_at)
    SELECT $1, b.id, b.workflow, b.input, b.status, b.result, b.failure,
        CASE WHEN b.status <> 'running' THEN clock_timestamp() END
    FROM unnest($15::uuid[], $16::int[], $17::json[], $18::text[], $19::json[], $20::json[])
        AS b (id, workflow, input, status, result, failure)
    ON CONFLICT (shard, id) DO NOTHING
    RETURNING id
--]
), stale AS MATERIALIZED (
    SELECT ARRAY(
        SELECT 0 WHERE false
--[ completions
        UNION ALL
        SELECT c.ord FROM unnest($8::int[]) AS c (ord) WHERE (c.ord IN (SELECT ord FROM done)) IS NOT TRUE
--]
--[ instances
        UNION ALL
        SELECT n.ord FROM unnest($14::int[], $15::uuid[]) AS n (ord, id) WHERE (n.id IN (SELECT id FROM created)) IS NOT TRUE
--]
    ) AS ords
--[ completions
), marked AS (
    INSERT INTO commits AS m (shard, backend, slot, number, stale, at)
    SELECT $1, $2::bigint, $3::int, $4::bigint, g.ords, statement_timestamp()
    FROM stale g
    WHERE EXISTS (SELECT FROM done)
    ON CONFLICT (shard, backend, slot) DO UPDATE SET number = excluded.number, stale = excluded.stale, at = excluded.at
        WHERE m.number < excluded.number
--]
--[ values
), valued AS (
    INSERT INTO inbox (shard, instance_id, variable, path, element, value)
    SELECT $1, v.instance_id, v.variable, v.path, v.element, v.value
    FROM unnest($21::int[], $22::uuid[], $23::int[], $24::text[], $25::int[], $26::json[])
        AS v (ord, instance_id, variable, path, element, value)
    WHERE v.ord <> ALL ((SELECT ords FROM stale)::int[])
    ON CONFLICT (shard, instance_id, variable, path, element) DO UPDATE SET value = excluded.value
--]
--[ elements
), collected AS (
    INSERT INTO elements (shard, instance_id, node, path, first, places, vals)
    SELECT $1, e.instance_id, e.node, e.path COLLATE "C", min(e.place), array_agg(e.place), array_agg(e.value)
    FROM unnest($27::int[], $28::uuid[], $29::int[], $30::text[], $31::int[], $32::json[])
        AS e (ord, instance_id, node, path, place, value)
    WHERE e.ord <> ALL ((SELECT ords FROM stale)::int[])
    GROUP BY e.instance_id, e.node, e.path COLLATE "C", e.place >> 6
--]
--[ arrivals
), arrived AS (
    INSERT INTO readiness AS r (shard, instance_id, node, path, required, completed, soft)
    SELECT $1, a.instance_id, a.node, a.path COLLATE "C", coalesce(nullif(max(a.required), 0), 2147483647),
        sum(a.hard) + max(a.soft), max(a.soft) > 0
    FROM unnest($33::int[], $34::uuid[], $35::int[], $36::text[], $37::int[], $38::int[], $39::int[])
        AS a (ord, instance_id, node, path, required, hard, soft)
    WHERE a.ord <> ALL ((SELECT ords FROM stale)::int[])
    GROUP BY a.instance_id, a.node, a.path COLLATE "C"
    ORDER BY a.instance_id, a.node, a.path COLLATE "C"
    ON CONFLICT (shard, instance_id, node, path) DO UPDATE
        SET completed = r.completed + excluded.completed - CASE WHEN r.soft AND excluded.soft THEN 1 ELSE 0 END,
            soft = r.soft OR excluded.soft
        WHERE excluded.completed > CASE WHEN r.soft AND excluded.soft THEN 1 ELSE 0 END
    RETURNING instance_id, node, path, required, completed
--]
--[ runs
), fresh AS MATERIALIZED (
    SELECT q.instance_id, q.node, q.path, q.args, q.wait, nextval('tokens') AS token
--[ turns
        , q.workflow
--]
    FROM unnest($40::int[], $41::uuid[], $42::int[], $43::text[], $44::json[], $45::bigint[]
--[ turns
        , $51::int[]
--]
    ) AS q (ord, instance_id, node, path, args, wait
--[ turns
        , workflow
--]
    )
    WHERE q.ord <> ALL ((SELECT ords FROM stale)::int[])
), queued AS (
    INSERT INTO queue (token, due_at, instance_id, node, attempt, owner, shard, path, args
--[ turns
        , workflow
--]
    )
    SELECT f.token, clock_timestamp() + coalesce(f.wait, $6::bigint) * interval '1 microsecond',
        f.instance_id, f.node, 1, CASE WHEN f.wait IS NULL THEN $5::int END, $1, f.path, f.args
--[ turns
        , f.workflow
--]
    FROM fresh f
--]
--[ retries
), requeued AS (
    INSERT INTO queue (token, due_at, instance_id, node, attempt, shard, path, args, workflow)
    SELECT nextval('tokens'), clock_timestamp() + d.wait * interval '1 microsecond',
        d.instance_id, d.node, d.attempt + 1, $1, d.path, d.args, d.workflow
    FROM done d
    WHERE d.wait IS NOT NULL
--]
--[ ends
), ended AS (
    UPDATE instances i
    SET status = e.status, result = e.result, failure = e.failure, ended_at = clock_timestamp()
    FROM (
        SELECT DISTINCT ON (u.instance_id) u.*, r.at
        FROM unnest($46::int[], $47::uuid[], $48::text[], $49::json[], $50::json[])
            AS u (ord, instance_id, status, result, failure)
        CROSS JOIN LATERAL (
            SELECT r.ctid AS at, r.status FROM instances r WHERE r.shard = $1 AND r.id = u.instance_id FOR UPDATE
        ) r
        WHERE u.ord <> ALL ((SELECT ords FROM stale)::int[]) AND r.status = 'running'
        ORDER BY u.instance_id, u.ord
    ) e
    WHERE i.ctid = e.at
    RETURNING e.ord
--]
)
SELECT g.ords
--[ completions
    , ARRAY(SELECT o.ord FROM offered o WHERE o.ord = ANY (g.ords))
--]
--[ runs
    , ARRAY(SELECT f.token FROM fresh f WHERE f.wait IS NULL)
--]
--[ ends
    , ARRAY(SELECT e.ord FROM ended e)
--]
--[ arrivals
    , r.*
--]
FROM stale g
--[ arrivals
CROSS JOIN (
    SELECT array_agg(a.instance_id), array_agg(a.node), array_agg(a.path), array_agg(a.required), array_agg(a.completed)
    FROM arrived a
    WHERE $7::boolean OR a.completed = a.required OR a.required = 2147483647
) r
--]
