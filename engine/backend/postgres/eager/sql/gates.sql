-- Locks the runs that are ready or at work between two places of nodes, in order, and says whether it got hold of all
-- that it saw. Whoever changes anything where they stand holds one of them, and is waited for. What that has made ready meanwhile,
-- this does not see. So it is done again, now: what another has locked already may be on its way to a
-- lock of ours, and then the transaction is given up and begun again, since locks that are taken out of order are
-- not waited for. $1 shard; $2 instance, $3 node, $4 from place, $5 to place.
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
