-- Takes over the leases that came with a shard. $1 shard.
DELETE FROM leases WHERE shard = $1
RETURNING instance_id, node, path, token, (extract(epoch FROM expires_at - clock_timestamp()) * 1000000)::bigint
