-- Appends what happened, and stores what was submitted, if the shard is still owned in the epoch: all of it or nothing.
-- The key of the shard's row is locked, so that a change of hands comes before, and nothing takes place, or after, and
-- sees all. What stands between --[ and --] is left out of statements that have nothing to do there.
-- $1 shard, $2 epoch
-- events: $3 the seq before the first, $4 instance, $5 node, $6 path, $7 data; where some are not results that no time
-- matters for: $8 kind, $9 whether time matters
-- Whoever else changes a running instance of the shard takes a new epoch first, so that rows need no lock before they change.
-- ends: $10 instance, $11 result, $12 token; where some did not complete: $13 status, $14 failure
-- created: $15 instance, $16 workflow, $17 input; where some ended at once: $18 status, $19 result, $20 failure, $21 token
-- instances whose state is among the events: $22 instance, $23 seq
WITH fence AS MATERIALIZED (
    SELECT s.epoch FROM shards s WHERE s.shard = $1::smallint AND s.epoch = $2::bigint FOR KEY SHARE
)
--[ events
, appended AS (
    INSERT INTO events (shard, epoch, seq, instance_id, node, path, data, kind, happened_at)
    SELECT $1::smallint, $2::bigint, $3::bigint + e.place, e.instance_id, e.node, e.path, e.data,
--[ results
        0, NULL
    FROM unnest($4::uuid[], $5::int[], $6::text[], $7::bytea[])
        WITH ORDINALITY AS e (instance_id, node, path, data, place)
--]
--[ kinds
        e.kind, CASE WHEN e.timed THEN clock_timestamp() END
    FROM unnest($4::uuid[], $5::int[], $6::text[], $7::bytea[], $8::int[], $9::boolean[])
        WITH ORDINALITY AS e (instance_id, node, path, data, kind, timed, place)
--]
    WHERE EXISTS (SELECT FROM fence)
)
--]
--[ ends
, ended AS (
    UPDATE instances i
    SET ended_at = clock_timestamp(), pending = false, ended_by = e.token, result = e.result,
--[ completed
        status = 'completed'
--]
--[ statuses
        status = e.status, failure = e.failure
--]
    FROM (
        SELECT u.*, r.at
        FROM
--[ completed
            unnest($10::uuid[], $11::json[], $12::bigint[]) AS u (id, result, token)
--]
--[ statuses
            unnest($10::uuid[], $11::json[], $12::bigint[], $13::text[], $14::json[]) AS u (id, result, token, status, failure)
--]
        CROSS JOIN LATERAL (
            SELECT r.ctid AS at FROM instances r WHERE r.shard = $1::smallint AND r.id = u.id AND r.status = 'running' OFFSET 0
        ) r
        WHERE EXISTS (SELECT FROM fence)
    ) e
    WHERE i.ctid = e.at
)
--]
--[ created
, created AS (
--[ running
    INSERT INTO instances (shard, id, workflow, input, status)
    SELECT $1::smallint, n.id, n.workflow, n.input, 'running'
    FROM unnest($15::uuid[], $16::int[], $17::json[]) AS n (id, workflow, input)
--]
--[ over
    INSERT INTO instances (shard, id, workflow, input, status, result, failure, ended_by, ended_at)
    SELECT $1::smallint, n.id, n.workflow, n.input, n.status, n.result, n.failure, nullif(n.token, 0),
        CASE WHEN n.status <> 'running' THEN clock_timestamp() END
    FROM unnest($15::uuid[], $16::int[], $17::json[], $18::text[], $19::json[], $20::json[], $21::bigint[])
        AS n (id, workflow, input, status, result, failure, token)
--]
    WHERE EXISTS (SELECT FROM fence)
    ORDER BY n.id -- in which all lock what may be another's (D5)
--[ known
    ON CONFLICT (shard, id) DO NOTHING
    RETURNING id
--]
)
--]
--[ snapshots
, snapped AS (
    UPDATE instances i SET snapshot = e.seq
    FROM (
        SELECT u.seq, r.at
        FROM unnest($22::uuid[], $23::bigint[]) AS u (id, seq)
        CROSS JOIN LATERAL (
            SELECT r.ctid AS at FROM instances r WHERE r.shard = $1::smallint AND r.id = u.id FOR UPDATE
        ) r
        WHERE EXISTS (SELECT FROM fence)
    ) e
    WHERE i.ctid = e.at
)
--]
SELECT count(*)::int
--[ known
    , ARRAY(SELECT id FROM created)
--]
FROM fence
