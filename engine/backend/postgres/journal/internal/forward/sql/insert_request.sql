-- Sends a request to a shard's owner, and deletes answered ones. $1 shard, $2 id, $3 body, $4 channel, $5 payload, $6 answered
-- requests.
WITH asked AS (
    INSERT INTO requests (shard, id, body) VALUES ($1, $2, $3)
), dropped AS (
    DELETE FROM requests r
    USING (
        SELECT r.at
        FROM unnest($6::uuid[]) AS d (id)
        CROSS JOIN LATERAL (SELECT r.ctid AS at FROM requests r WHERE r.shard = $1 AND r.id = d.id OFFSET 0) r
    ) d
    WHERE r.ctid = d.at
)
SELECT pg_notify($4, $5)
