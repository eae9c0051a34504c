-- Notes that an engine looks for work, removes exited engines, and counts the other engines and the free shards; a new engine
-- notifies the others. It locks its own row first and skips other locked rows: expired engines that remove each other's rows
-- would deadlock. $1 name, $2 lease in µs, $3 whether it looks for work, $4 channel, $5 payload.
WITH known AS MATERIALIZED (
    SELECT FROM owners WHERE name = $1
), seen AS (
    INSERT INTO owners (name, seen_at) SELECT $1, clock_timestamp() WHERE $3
    ON CONFLICT (name) DO UPDATE SET seen_at = excluded.seen_at
    RETURNING 1
), gone AS (
    DELETE FROM owners o
    USING (
        SELECT r.ctid AS at FROM owners r
        WHERE r.seen_at < clock_timestamp() - $2::bigint * interval '1 microsecond' AND r.name <> $1 AND (SELECT count(*) FROM seen) < 2
        FOR UPDATE SKIP LOCKED
    ) f
    WHERE o.ctid = f.at
)
SELECT (SELECT count(*)::int FROM owners WHERE seen_at >= clock_timestamp() - $2::bigint * interval '1 microsecond' AND name <> $1),
    (SELECT count(*)::int FROM shards WHERE owner IS NULL OR expires_at <= clock_timestamp()),
    CASE WHEN $3 AND NOT EXISTS (SELECT FROM known) THEN pg_notify($4, $5)::text END
