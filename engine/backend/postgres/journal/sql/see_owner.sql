-- Notes that an engine looks for work, drops those that were not heard of, and counts those that are there. $1 name, $2 lease in µs, $3 whether it looks for work.
WITH gone AS (
    DELETE FROM owners WHERE seen_at < clock_timestamp() - $2::bigint * interval '1 microsecond' AND name <> $1
), seen AS (
    INSERT INTO owners (name, seen_at) SELECT $1, clock_timestamp() WHERE $3
    ON CONFLICT (name) DO UPDATE SET seen_at = excluded.seen_at
)
SELECT count(*)::int FROM owners WHERE seen_at >= clock_timestamp() - $2::bigint * interval '1 microsecond' AND name <> $1
