-- Takes what others ask of the owner of a shard, and drops what nobody waits for any more. $1 shard, $2 age in µs at which that is so.
WITH stale AS (
    DELETE FROM requests
    WHERE shard = $1 AND (fetched OR withdrawn) AND sent_at < clock_timestamp() - $2::bigint * interval '1 microsecond'
)
UPDATE requests SET fetched = true WHERE shard = $1 AND NOT fetched AND NOT withdrawn RETURNING id, body
