-- The four writes of many completions; of one whose token is not the current one, none takes place. Rows are looked up by
-- their whole key, one by one, and changed by their address: a plain join may be planned as one that reads the whole queue.
-- $1 shard
-- completions: $2 ord, $3 instance, $4 node of all, $5 path, $6 token; values: $7 place, $8 value
-- join: $9 node, $10 how many it waits for
-- the runs that became ready: $11 instance, $12 token, $13 arguments
-- ends: $14 ord, $15 instance, $16 result; births: $17 instance, $18 workflow, $19 input; where there are none, what stands
-- between --[ instances and --] is left out
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
), valued AS (
    INSERT INTO inbox (shard, instance_id, variable, path, element, value)
    SELECT $1::smallint, v.instance_id, $4::int, '', v.place, v.value
    FROM unnest($2::int[], $3::uuid[], $7::int[], $8::json[]) AS v (ord, instance_id, place, value)
    WHERE (v.ord IN (SELECT ord FROM done)) IS TRUE
    RETURNING 1
), arrived AS (
    INSERT INTO readiness AS r (shard, instance_id, node, path, required, completed, soft)
    SELECT $1::smallint, a.instance_id, $9::int, '', $10::int, count(*), false
    FROM unnest($2::int[], $3::uuid[]) AS a (ord, instance_id)
    WHERE (a.ord IN (SELECT ord FROM done)) IS TRUE
    GROUP BY a.instance_id
    ON CONFLICT (shard, instance_id, node, path) DO UPDATE SET completed = r.completed + excluded.completed
), queued AS (
    INSERT INTO queue (shard, instance_id, node, path, due_at, token, attempt, owner, args)
    SELECT $1::smallint, e.instance_id, $4::int, e.path, clock_timestamp() + interval '30 s', e.token, 1, 1, e.args
    FROM unnest($2::int[], $11::uuid[], $5::text[], $12::bigint[], $13::json[]) AS e (ord, instance_id, path, token, args)
    WHERE (e.ord IN (SELECT ord FROM done)) IS TRUE
    RETURNING 1
)
--[ instances
, ended AS (
    UPDATE instances i
    SET status = 'completed', untidy = false, result = e.result, failure = NULL, ended_at = clock_timestamp()
    FROM (
        SELECT u.result, r.at
        FROM unnest($14::int[], $15::uuid[], $16::json[]) AS u (ord, id, result)
        CROSS JOIN LATERAL (
            SELECT r.ctid AS at FROM instances r WHERE r.shard = $1::smallint AND r.id = u.id AND r.status = 'running' FOR UPDATE
        ) r
        WHERE (u.ord IN (SELECT ord FROM done)) IS TRUE
    ) e
    WHERE i.ctid = e.at
), born AS (
    INSERT INTO instances (shard, id, workflow, input, status)
    SELECT $1::smallint, n.id, n.workflow, n.input, 'running'
    FROM unnest($17::uuid[], $18::int[], $19::json[]) AS n (id, workflow, input)
)
--]
SELECT (SELECT count(*) FROM done), (SELECT count(*) FROM valued), (SELECT count(*) FROM queued)
