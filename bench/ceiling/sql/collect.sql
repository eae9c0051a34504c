-- Stores an element of a list for its aggregate: $1 shard, $2 instance, $3 node, $4 its place in the list, $5 value.
INSERT INTO elements (shard, instance_id, node, path, first, places, vals)
VALUES ($1::smallint, $2::uuid, $3::int, '', $4::int, ARRAY[$4::int], ARRAY[$5::json])
