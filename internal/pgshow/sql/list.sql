-- Reads instances of a shard by descending id, among so many of them; and, in a last row without a status, the last one among
-- them if there may be more. $1 shard, $2 below which id, $3 among how many, $4 most; null is any: $5 workflows, $6 status,
-- $7 submitted before, $8 submitted since.
WITH span AS MATERIALIZED (
    SELECT i.id, i.workflow, i.status, i.failure ->> 'type' AS failure, i.submitted_at, i.ended_at
    FROM instances i
    WHERE i.shard = $1 AND i.id < $2
    ORDER BY i.id DESC
    LIMIT $3
), chosen AS (
    SELECT s.*
    FROM span s
    WHERE ($5::int[] IS NULL OR s.workflow = ANY ($5)) AND ($6::text IS NULL OR s.status = $6)
        AND ($7::timestamptz IS NULL OR s.submitted_at < $7) AND ($8::timestamptz IS NULL OR s.submitted_at >= $8)
    ORDER BY s.id DESC
    LIMIT $4
)
SELECT c.id, c.workflow, c.status, coalesce(c.failure, ''), c.submitted_at, c.ended_at FROM chosen c
UNION ALL
SELECT l.id, 0, '', '', l.submitted_at, NULL
FROM (SELECT s.id, s.submitted_at FROM span s ORDER BY s.id LIMIT 1) l
WHERE (SELECT count(*) FROM span) = $3
