-- Reads a shard's epoch, its owner and the rest of the owner's lease in µs. $1 shard.
SELECT epoch, coalesce(owner, ''), CASE WHEN owner IS NULL THEN 0 ELSE greatest(0, (extract(epoch FROM expires_at - clock_timestamp()) * 1000000)::bigint) END
FROM shards WHERE shard = $1
