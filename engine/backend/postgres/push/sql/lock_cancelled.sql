-- Locks the node runs of regions that are cancelled, in key order, and says whether it got hold of all that it saw. What is being
-- completed there is so waited for, and gone then. What that has queued, the statement does not see. So it is done again, now: what is locked already by
-- somebody else may be on its way to a lock of ours, and then the transaction is given up and begun again, since locks that are
-- taken out of order are not waited for.
-- $1 shard; ranges: $2 instance, $3 node, $4 low, $5 high
WITH ranges AS MATERIALIZED (
    SELECT * FROM unnest($2::uuid[], $3::int[], $4::text[], $5::text[]) AS r (instance_id, node, low, high)
), seen AS MATERIALIZED (
    SELECT count(*) AS runs
    FROM ranges r
    CROSS JOIN LATERAL (
        SELECT FROM queue t
        WHERE t.shard = $1 AND t.instance_id = r.instance_id AND t.node = r.node AND t.path >= r.low AND t.path < r.high
        OFFSET 0
    ) t
), locked AS MATERIALIZED (
    SELECT count(*) AS runs
    FROM ranges r
    CROSS JOIN LATERAL (
        SELECT FROM queue t
        WHERE t.shard = $1 AND t.instance_id = r.instance_id AND t.node = r.node AND t.path >= r.low AND t.path < r.high
        ORDER BY t.path
        FOR UPDATE
--[ now
        NOWAIT
--]
    ) t
)
SELECT s.runs = l.runs FROM seen s, locked l
