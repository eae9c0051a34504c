-- Writes many completions; a stale one writes nothing. Rows are looked up by their whole key, one by one, and changed by
-- address: a plain join might be planned as a scan of the whole queue.
-- The part between --[ and --] is omitted if no completion of the graph writes what it names.
-- $1 shard
-- completions: $2 ord, $3 instance, $4 node of all, $5 path, $6 token
-- values: $7 ord, $8 instance, $9 place, $10 value; elements: $11 ord, $12 instance, $13 place, $14 value
-- counter increments: $15 ord, $16 instance, $17 node, $18 its predecessors
-- runs that became ready: $19 instance, $20 token, $21 arguments, $22 path
-- ends: $23 ord, $24 instance, $25 result; submissions: $26 instance, $27 workflow, $28 input
WITH found AS MATERIALIZED (
    SELECT c.ord, q.at
    FROM unnest($2::int[], $3::uuid[], $5::text[], $6::bigint[]) AS c (ord, instance_id, path, token)
    CROSS JOIN LATERAL (
        SELECT q.ctid AS at, q.token
        FROM queue q
        WHERE q.shard = $1::smallint AND q.instance_id = c.instance_id AND q.node = $4::int AND q.path = c.path
        OFFSET 0
    ) q
    WHERE q.token = c.token
), done AS (
    DELETE FROM queue q
    USING found f
    WHERE q.ctid = f.at
    RETURNING f.ord
)
--[ values
, valued AS (
    INSERT INTO inbox (shard, instance_id, variable, path, element, value)
    SELECT $1::smallint, v.instance_id, $4::int, '', v.place, v.value
    FROM unnest($7::int[], $8::uuid[], $9::int[], $10::json[]) AS v (ord, instance_id, place, value)
    WHERE (v.ord IN (SELECT ord FROM done)) IS TRUE
)
--]
--[ elements
, collected AS (
    INSERT INTO elements (shard, instance_id, node, path, first, places, vals)
    SELECT $1::smallint, e.instance_id, $4::int, '', min(e.place), array_agg(e.place), array_agg(e.value)
    FROM unnest($11::int[], $12::uuid[], $13::int[], $14::json[]) AS e (ord, instance_id, place, value)
    WHERE (e.ord IN (SELECT ord FROM done)) IS TRUE
    GROUP BY e.instance_id, e.place >> 6
)
--]
--[ raises
, raised AS (
    INSERT INTO readiness AS r (shard, instance_id, node, path, required, completed, soft)
    SELECT $1::smallint, a.instance_id, a.node, '', max(a.required), count(*), false
    FROM unnest($15::int[], $16::uuid[], $17::int[], $18::int[]) AS a (ord, instance_id, node, required)
    WHERE (a.ord IN (SELECT ord FROM done)) IS TRUE
    GROUP BY a.instance_id, a.node
    ON CONFLICT (shard, instance_id, node, path) DO UPDATE SET completed = r.completed + excluded.completed
)
--]
, queued AS (
    INSERT INTO queue (shard, instance_id, node, path, due_at, token, attempt, owner, args)
    SELECT $1::smallint, e.instance_id, $4::int, e.path, clock_timestamp() + interval '30 s', e.token, 1, 1, e.args
    FROM unnest($2::int[], $19::uuid[], $22::text[], $20::bigint[], $21::json[]) AS e (ord, instance_id, path, token, args)
    WHERE (e.ord IN (SELECT ord FROM done)) IS TRUE
    RETURNING 1
)
--[ instances
, ended AS (
    UPDATE instances i
    SET status = 'completed', needs_cleanup = false, result = e.result, failure = NULL, ended_at = clock_timestamp()
    FROM (
        SELECT u.result, r.at
        FROM unnest($23::int[], $24::uuid[], $25::json[]) AS u (ord, id, result)
        CROSS JOIN LATERAL (
            SELECT r.ctid AS at FROM instances r WHERE r.shard = $1::smallint AND r.id = u.id AND r.status = 'running' FOR UPDATE
        ) r
        WHERE (u.ord IN (SELECT ord FROM done)) IS TRUE
    ) e
    WHERE i.ctid = e.at
), created AS (
    INSERT INTO instances (shard, id, workflow, input, status)
    SELECT $1::smallint, n.id, n.workflow, n.input, 'running'
    FROM unnest($26::uuid[], $27::int[], $28::json[]) AS n (id, workflow, input)
)
--]
SELECT (SELECT count(*) FROM done), (SELECT count(*) FROM queued)
