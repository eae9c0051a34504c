-- Deletes all rows of instances that this transaction ended. If another node run of one is open, the instance is marked with
-- needs_cleanup and returned instead. Until a completion commits, its node run is seen as open; afterwards, what it has made
-- ready is seen. Without an open run besides the ending one, nothing can begin. A row may be locked by a transaction that waited
-- for it in vain and may want a row of ours: NOWAIT fails then, and the transaction is retried.
-- $1 shard; $2 instance, $3 node, $4 place of the run that ends it, $5 whether other node runs may be open
WITH ended AS MATERIALIZED (
    SELECT e.instance_id, i.at, i.needs_cleanup OR i.busy AS left_alone, i.needs_cleanup
    FROM unnest($2::uuid[], $3::int[], $4::text[], $5::boolean[]) AS e (instance_id, node, place, shared)
    LEFT JOIN LATERAL (
        SELECT r.ctid AS at, r.needs_cleanup, EXISTS (
            SELECT FROM node_ready_state q
            WHERE q.shard = $1 AND q.instance_id = e.instance_id AND q.token IS NOT NULL AND NOT q.is_completed
                AND (q.node, q.place) <> (e.node, e.place)
            OFFSET 0
        ) AS busy
        FROM instances r
        WHERE e.shared AND r.shard = $1 AND r.id = e.instance_id
        OFFSET 0
    ) i ON true
), over AS MATERIALIZED (
    SELECT e.instance_id FROM ended e WHERE e.left_alone IS NOT TRUE
), nodes AS MATERIALIZED (
    SELECT t.at FROM over CROSS JOIN LATERAL (
        SELECT t.ctid AS at FROM node_ready_state t WHERE t.shard = $1 AND t.instance_id = over.instance_id
        FOR UPDATE NOWAIT
    ) t
), without_nodes AS (
    DELETE FROM node_ready_state t USING nodes WHERE t.ctid = nodes.at
), pushed AS MATERIALIZED (
    SELECT t.at FROM over CROSS JOIN LATERAL (
        SELECT t.ctid AS at FROM node_pending_context t WHERE t.shard = $1 AND t.instance_id = over.instance_id OFFSET 0
    ) t
), without_payloads AS (
    DELETE FROM node_pending_context t USING pushed WHERE t.ctid = pushed.at
), known AS MATERIALIZED (
    SELECT t.at FROM over CROSS JOIN LATERAL (
        SELECT t.ctid AS at FROM instance_eval_context t WHERE t.shard = $1 AND t.instance_id = over.instance_id OFFSET 0
    ) t
), without_values AS (
    DELETE FROM instance_eval_context t USING known WHERE t.ctid = known.at
)
UPDATE instances i SET needs_cleanup = true
FROM ended e
WHERE i.ctid = e.at AND e.left_alone AND NOT e.needs_cleanup
RETURNING e.instance_id
