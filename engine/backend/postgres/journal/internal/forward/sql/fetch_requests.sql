-- Fetches the requests to a shard's owner, and deletes abandoned ones. $1 shard, $2 age in µs of an abandoned request.
WITH stale AS (
    DELETE FROM requests
    WHERE shard = $1 AND (fetched OR withdrawn) AND sent_at < clock_timestamp() - $2::bigint * interval '1 microsecond'
)
UPDATE requests SET fetched = true WHERE shard = $1 AND NOT fetched AND NOT withdrawn RETURNING id, body
