-- Removes marks that nobody will ask for any more: of backends that have gone, or of places that are not used.
-- $1 shard, $2 age in µs.
WITH old AS MATERIALIZED (
    SELECT m.ctid AS at
    FROM commits m
    WHERE m.shard = $1 AND m.at < statement_timestamp() - $2::bigint * interval '1 microsecond'
    FOR UPDATE SKIP LOCKED
)
DELETE FROM commits m USING old o WHERE m.ctid = o.at
