-- Returns the instances that completions have ended. $1 shard, $2 instances, $3 tokens of the completions.
SELECT i.id
FROM unnest($2::uuid[], $3::bigint[]) AS e (id, token)
CROSS JOIN LATERAL (
    SELECT r.id FROM instances r WHERE r.shard = $1 AND r.id = e.id AND r.status <> 'running' AND r.ended_by = e.token
    OFFSET 0
) i
