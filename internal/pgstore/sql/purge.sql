-- Deletes old ended instances among so many of a shard, and counts them. $1 shard, $2 behind which id, $3 among how many, $4 age in
-- µs.
WITH span AS MATERIALIZED (
    SELECT i.id, i.ctid AS at, i.status, i.needs_cleanup, i.ended_at
    FROM instances i
    WHERE i.shard = $1 AND i.id > $2
    ORDER BY i.id
    LIMIT $3
), old AS MATERIALIZED (
    SELECT s.at, s.status
    FROM span s
    WHERE s.status <> 'running' AND NOT s.needs_cleanup AND s.ended_at < clock_timestamp() - $4::bigint * interval '1 microsecond'
), purged AS (
--[ dry
    SELECT o.status FROM old o
--]
--[ delete
    DELETE FROM instances i USING old o WHERE i.ctid = o.at AND i.status <> 'running' AND NOT i.needs_cleanup RETURNING i.status
--]
)
SELECT count(*) FILTER (WHERE g.status = 'completed')::int, count(*) FILTER (WHERE g.status = 'failed')::int,
    count(*) FILTER (WHERE g.status = 'canceled')::int, (SELECT s.id FROM span s ORDER BY s.id DESC LIMIT 1),
    (SELECT count(*)::int FROM span)
FROM purged g
