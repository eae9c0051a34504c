-- Owns every shard in epoch $1.
UPDATE shards SET epoch = $1::bigint, owner = 'ceiling', expires_at = clock_timestamp() + interval '1 day'
