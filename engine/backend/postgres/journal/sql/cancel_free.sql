-- Ends running instances of a shard that nobody owns as canceled, and says whether nobody did, and how many of the instances it
-- has missed: those that somebody changed who had the shard while the statement waited for its row. The shard's row is locked, so
-- that whoever takes it sees the end; and nobody is its owner any more, so that one who comes back late does not take what
-- he remembers for all there is. $1 shard, $2 instances, $3 failure.
WITH nobody AS MATERIALIZED (
    SELECT s.epoch FROM shards s WHERE s.shard = $1 AND (s.owner IS NULL OR s.expires_at <= clock_timestamp()) FOR NO KEY UPDATE
), fenced AS (
    UPDATE shards s SET epoch = s.epoch + 1, owner = NULL, counted = s.counted AND s.owner IS NULL FROM nobody n WHERE s.shard = $1 AND s.epoch = n.epoch
    RETURNING s.epoch
), found AS MATERIALIZED (
    SELECT r.at
    FROM unnest($2::uuid[]) AS c (id)
    CROSS JOIN LATERAL (
        SELECT r.ctid AS at FROM instances r WHERE r.shard = $1 AND r.id = c.id AND r.status = 'running' FOR UPDATE
    ) r
    WHERE EXISTS (SELECT FROM fenced)
), ended AS (
    UPDATE instances i
    SET status = 'canceled', failure = $3::json, pending = false, ended_at = clock_timestamp()
    FROM found f
    WHERE i.ctid = f.at
    RETURNING i.id
)
SELECT (SELECT count(*) FROM fenced)::int, ((SELECT count(DISTINCT at) FROM found) - (SELECT count(*) FROM ended))::int
