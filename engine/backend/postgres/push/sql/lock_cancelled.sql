-- Locks the node runs of cancelled regions, in key order, and returns whether it locked all that it saw. It waits for
-- transactions that complete some, but does not see what those queued; so it is repeated, with NOWAIT: the holder of a lock may
-- be waiting for one of ours. If that fails, the transaction is retried.
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
