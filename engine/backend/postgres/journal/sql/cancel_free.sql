-- Cancels running instances of a shard without an owner. Returns whether it has none, and how many instances it missed, since an
-- earlier owner changed them while the statement waited for the shard's row. It locks that row, so that the next owner sees the
-- ends, and takes the epoch, so that a late former owner cannot rely on its memory. $1 shard, $2 instances, $3 failure.
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
