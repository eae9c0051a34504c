-- Removes waits, and the signals that they have taken: of keyed ones, the values. $1 instances, $2 nodes, $3 paths, $4 tokens.
WITH ended AS (
    DELETE FROM signal_waits w
    USING unnest($1::uuid[], $2::integer[], $3::text[], $4::bigint[]) AS k (instance_id, node, path, token)
    WHERE w.instance_id = k.instance_id AND w.node = k.node AND w.path = k.path AND w.token = k.token
    RETURNING w.signal
), dropped AS (
    DELETE FROM signals s USING ended e WHERE s.seq = e.signal AND NOT s.keyed
)
UPDATE signals s SET value = NULL FROM ended e WHERE s.seq = e.signal AND s.keyed
