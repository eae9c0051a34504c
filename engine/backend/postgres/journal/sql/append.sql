-- Appends events and stores new instances if the shard still has the epoch: all or nothing. It locks the key of the shard's row,
-- so that a change of owner comes either before, and nothing is applied, or after, and sees everything. A part between --[ and
-- --] is left out of statements that do not need it.
-- $1 shard, $2 epoch
-- events: $3 the seq before the first, $4 instance, $5 node, $6 path, $7 data; unless all are results without time: $8 kind,
--   $9 whether time matters
-- ends: $10 instance, $11 result, $12 token; unless all completed: $13 status, $14 failure
-- created: $15 instance, $16 workflow, $17 input; if some end at once: $18 status, $19 result, $20 failure, $21 token
-- snapshots: $22 instance, $23 seq
-- Any other change of a running instance takes a new epoch first, so rows need no lock before they change.
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
    ORDER BY n.id -- the lock order of all transactions (D5)
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
