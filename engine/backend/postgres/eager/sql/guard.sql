-- Locks the rows of completions and returns those that are not stale: the token is current and the instance runs. It does not
-- lock a row with another token: transactions that hold later rows may want it (D5). The transaction's id resolves a lost COMMIT.
-- $1 shard; $2 ord, $3 instance, $4 node, $5 place, $6 token.
SELECT c.ord, r.path, r.attempt, i.workflow, pg_current_xact_id()::text
FROM unnest($2::int[], $3::uuid[], $4::int[], $5::text[], $6::bigint[]) AS c (ord, instance_id, node, place, token)
CROSS JOIN LATERAL (
    SELECT i.status, i.workflow FROM instances i WHERE i.shard = $1 AND i.id = c.instance_id OFFSET 0
) i
CROSS JOIN LATERAL (
    SELECT r.path, r.attempt
    FROM node_ready_state r
    WHERE r.shard = $1 AND r.instance_id = c.instance_id AND r.node = c.node AND r.place = c.place
        AND r.token = c.token AND r.is_queued AND NOT r.is_completed
    FOR UPDATE
) r
WHERE i.status = 'running'
