-- Stores a value in the inbox: $1 shard, $2 instance, $3 variable, $4 its number, $5 value.
INSERT INTO inbox (shard, instance_id, variable, path, element, value)
VALUES ($1::smallint, $2::uuid, $3::int, '', $4::int, $5::json)
