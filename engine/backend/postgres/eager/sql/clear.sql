-- Deletes the rows of ended or cancelled node runs. Node rows of one place are reset for the next round; those of a range of
-- places are deleted. Open node runs there are locked already. The row of a completed one may be locked by a transaction that
-- waited for it in vain and may want a row of ours: NOWAIT fails then, and the transaction is retried.
-- $1 shard; nodes: $2 instance, $3 node, $4 from place, $5 to place;
-- variables: $6 instance, $7 variable, $8 from scope, $9 to scope.
WITH named AS MATERIALIZED (
    SELECT * FROM unnest($2::uuid[], $3::int[], $4::text[], $5::text[]) AS n (instance_id, node, low, high)
), found AS MATERIALIZED (
    SELECT r.at, n.low = n.high AS stays
    FROM named n
    CROSS JOIN LATERAL (
        SELECT r.ctid AS at, r.path, r.token, r.deps_satisfied, r.is_completed FROM node_ready_state r
        WHERE r.shard = $1 AND r.instance_id = n.instance_id AND r.node = n.node AND r.place BETWEEN n.low AND n.high
        FOR UPDATE NOWAIT
    ) r
    WHERE n.low <> n.high OR r.path <> '' OR r.token IS NOT NULL OR r.deps_satisfied > 0 OR r.is_completed
), reset AS (
    UPDATE node_ready_state r
    SET path = '', deps_satisfied = 0, soft = false, is_queued = false, is_completed = false, due_at = NULL, token = NULL, attempt = 1, redeliveries = 0, owner = NULL,
        args = NULL
    FROM found f
    WHERE r.ctid = f.at AND f.stays
), gone AS (
    DELETE FROM node_ready_state r USING found f WHERE r.ctid = f.at AND NOT f.stays
), pushed AS MATERIALIZED (
    SELECT p.at
    FROM named n
    CROSS JOIN LATERAL (
        SELECT p.ctid AS at FROM node_pending_context p
        WHERE p.shard = $1 AND p.instance_id = n.instance_id AND p.node = n.node AND p.place BETWEEN n.low AND n.high
        OFFSET 0
    ) p
), unpushed AS (
    DELETE FROM node_pending_context p USING pushed WHERE p.ctid = pushed.at
), known AS MATERIALIZED (
    SELECT v.at
    FROM unnest($6::uuid[], $7::int[], $8::text[], $9::text[]) AS n (instance_id, variable, low, high)
    CROSS JOIN LATERAL (
        SELECT v.ctid AS at FROM instance_eval_context v
        WHERE v.shard = $1 AND v.instance_id = n.instance_id AND v.variable = n.variable AND v.scope BETWEEN n.low AND n.high
        OFFSET 0
    ) v
), unknown AS (
    DELETE FROM instance_eval_context v USING known WHERE v.ctid = known.at
)
SELECT count(*) FROM found
