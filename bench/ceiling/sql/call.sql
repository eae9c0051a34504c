-- The four writes of a completion, of which none takes place without the first.
-- $1 shard, $2 instance, $3 node, $4 path, $5 token; value: $6 place, $7 value; join: $8 node, $9 how many it waits for;
-- the run that became ready: $10 instance, $11 token, $12 arguments; what stands between
-- --[ instances and --] is left out where no instance ends: $13 instance, $14 result
WITH done AS (
    DELETE FROM queue
    WHERE shard = $1::smallint AND instance_id = $2::uuid AND node = $3::int AND path = $4::text AND token = $5::bigint
    RETURNING 1
), valued AS (
    INSERT INTO inbox (shard, instance_id, variable, path, element, value)
    SELECT $1::smallint, $2::uuid, $3::int, '', $6::int, $7::json FROM done
    RETURNING 1
), arrived AS (
    INSERT INTO readiness AS r (shard, instance_id, node, path, required, completed, soft)
    SELECT $1::smallint, $2::uuid, $8::int, '', $9::int, 1, false FROM done
    ON CONFLICT (shard, instance_id, node, path) DO UPDATE SET completed = r.completed + excluded.completed
    RETURNING 1
), queued AS (
    INSERT INTO queue (shard, instance_id, node, path, due_at, token, attempt, owner, args)
    SELECT $1::smallint, $10::uuid, $3::int, $4::text, clock_timestamp() + interval '30 s', $11::bigint, 1, 1, $12::json
    FROM done
    RETURNING 1
)
--[ instances
, ended AS (
    UPDATE instances
    SET status = 'completed', untidy = false, result = $14::json, failure = NULL, ended_at = clock_timestamp()
    WHERE shard = $1::smallint AND id = $13::uuid AND status = 'running' AND EXISTS (SELECT FROM done)
    RETURNING 1
)
--]
SELECT (SELECT count(*) FROM done), (SELECT count(*) FROM valued), (SELECT count(*) FROM arrived), (SELECT count(*) FROM queued)
--[ instances
    , (SELECT count(*) FROM ended)
--]
