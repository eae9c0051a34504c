-- Leases ready nodes that are due: those that nobody has and those whose lease is over. Rows of an
-- instance that has ended wait to be swept.
-- What is due is compared with the time of the statement, which an index can use.
-- $1 shard, $2 most, $3 owner, $4 lease in µs.
WITH ready AS MATERIALIZED (
    SELECT r.ctid AS at, i.workflow
    FROM node_ready_state r
    CROSS JOIN LATERAL (
        SELECT i.status, i.workflow FROM instances i WHERE i.shard = $1 AND i.id = r.instance_id OFFSET 0
    ) i
    WHERE r.shard = $1 AND r.deps_satisfied >= r.deps_required AND NOT r.is_completed AND r.token IS NOT NULL
        AND r.due_at <= statement_timestamp() AND i.status = 'running'
    ORDER BY r.due_at, r.token
    LIMIT $2
    FOR UPDATE OF r SKIP LOCKED
), leased AS (
    UPDATE node_ready_state r
    SET is_queued = true, due_at = clock_timestamp() + $4::bigint * interval '1 microsecond', token = nextval('tokens'),
        owner = $3::text
    FROM ready
    WHERE r.ctid = ready.at
    RETURNING r.instance_id, r.node, r.path, r.token, r.attempt, ready.workflow, r.args
)
SELECT instance_id, node, path, token, attempt, workflow, args FROM leased
