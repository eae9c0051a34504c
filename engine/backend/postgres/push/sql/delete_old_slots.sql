-- Deletes commit slots older than $2: their engines have exited or no longer use them.
-- $1 shard, $2 age in µs.
WITH old AS MATERIALIZED (
    SELECT m.ctid AS at
    FROM commits m
    WHERE m.shard = $1 AND m.at < statement_timestamp() - $2::bigint * interval '1 microsecond'
    FOR UPDATE SKIP LOCKED
)
DELETE FROM commits m USING old o WHERE m.ctid = o.at
