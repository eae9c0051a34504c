-- Writes a completion, or nothing if its run's row is not deleted.
-- The part between --[ and --] is omitted if the completion writes nothing of what it names.
-- $1 shard, $2 instance, $3 node, $4 path, $5 token; values: $6 places, $7 values; elements: $8 places, $9 values;
-- counter increments: $10 nodes, $11 their predecessors; the run that became ready: $12 instance, $13 path, $14 token,
-- $15 arguments; end: $16 instance, $17 result
WITH done AS (
    DELETE FROM queue
    WHERE shard = $1::smallint AND instance_id = $2::uuid AND node = $3::int AND path = $4::text AND token = $5::bigint
    RETURNING 1
)
--[ values
, valued AS (
    INSERT INTO inbox (shard, instance_id, variable, path, element, value)
    SELECT $1::smallint, $2::uuid, $3::int, '', v.place, v.value
    FROM done, unnest($6::int[], $7::json[]) AS v (place, value)
)
--]
--[ elements
, collected AS (
    INSERT INTO elements (shard, instance_id, node, path, first, places, vals)
    SELECT $1::smallint, $2::uuid, $3::int, '', e.place, ARRAY[e.place], ARRAY[e.value]
    FROM done, unnest($8::int[], $9::json[]) AS e (place, value)
)
--]
--[ raises
, raised AS (
    INSERT INTO readiness AS r (shard, instance_id, node, path, required, completed, soft)
    SELECT $1::smallint, $2::uuid, a.node, '', max(a.required), count(*), false
    FROM done, unnest($10::int[], $11::int[]) AS a (node, required)
    GROUP BY a.node
    ON CONFLICT (shard, instance_id, node, path) DO UPDATE SET completed = r.completed + excluded.completed
)
--]
, queued AS (
    INSERT INTO queue (shard, instance_id, node, path, due_at, token, attempt, owner, args)
    SELECT $1::smallint, $12::uuid, $3::int, $13::text, clock_timestamp() + interval '30 s', $14::bigint, 1, 1, $15::json
    FROM done
    RETURNING 1
)
--[ instances
, ended AS (
    UPDATE instances
    SET status = 'completed', needs_cleanup = false, result = $17::json, failure = NULL, ended_at = clock_timestamp()
    WHERE shard = $1::smallint AND id = $16::uuid AND status = 'running' AND EXISTS (SELECT FROM done)
    RETURNING 1
)
--]
SELECT (SELECT count(*) FROM done), (SELECT count(*) FROM queued)
--[ instances
    , (SELECT count(*) FROM ended)
--]
