-- Locks the open node runs between two places, in order, and returns whether it locked all that it saw. It waits for completions
-- there, but does not see what those have made ready; so it is repeated with now: the holder of a lock may be waiting for one of
-- ours. If that fails, the transaction is retried.
-- $1 shard; $2 instance, $3 node, $4 from place, $5 to place.
WITH named AS MATERIALIZED (
    SELECT * FROM unnest($2::uuid[], $3::int[], $4::text[], $5::text[]) AS n (instance_id, node, low, high)
), seen AS MATERIALIZED (
    SELECT count(*) AS runs
    FROM named n
    CROSS JOIN LATERAL (
        SELECT FROM node_ready_state r
        WHERE r.shard = $1 AND r.instance_id = n.instance_id AND r.node = n.node AND r.place BETWEEN n.low AND n.high
            AND r.token IS NOT NULL AND NOT r.is_completed
        OFFSET 0
    ) r
), locked AS MATERIALIZED (
    SELECT count(*) AS runs
    FROM named n
    CROSS JOIN LATERAL (
        SELECT FROM node_ready_state r
        WHERE r.shard = $1 AND r.instance_id = n.instance_id AND r.node = n.node AND r.place BETWEEN n.low AND n.high
            AND r.token IS NOT NULL AND NOT r.is_completed
        ORDER BY r.place
        FOR UPDATE
--[ now
        NOWAIT
--]
    ) r
)
SELECT s.runs = l.runs FROM seen s, locked l
