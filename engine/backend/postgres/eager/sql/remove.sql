-- Removes all that instances hold which this transaction ended and nothing else works on. A row of a node can still be
-- locked by whoever had waited for it in vain, and waits for us elsewhere: that is not waited for, and the transaction
-- begins again. $1 shard, $2 instances.
WITH over AS MATERIALIZED (
    SELECT * FROM unnest($2::uuid[]) AS e (instance_id)
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
)
DELETE FROM instance_eval_context t USING known WHERE t.ctid = known.at
