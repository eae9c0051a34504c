-- Ends running instances as canceled; they need cleanup. $1 shard, $2 instances, $3 failure.
WITH running AS MATERIALIZED (
    SELECT i.at
    FROM unnest($2::uuid[]) AS c (id)
    CROSS JOIN LATERAL (
        SELECT i.ctid AS at FROM instances i WHERE i.shard = $1 AND i.id = c.id AND i.status = 'running' FOR UPDATE
    ) i
)
UPDATE instances i
SET status = 'canceled', needs_cleanup = true, failure = $3::json, ended_at = clock_timestamp()
FROM running r
WHERE i.ctid = r.at
RETURNING i.id
