-- Deletes the run from the queue if the token is current: $1 shard, $2 instance, $3 node, $4 path, $5 token.
DELETE FROM queue
WHERE shard = $1::smallint AND instance_id = $2::uuid AND node = $3::int AND path = $4::text AND token = $5::bigint
