-- Takes values of variables away. $1 shard; $2 instance, $3 variable, $4 path.
DELETE FROM inbox i
USING unnest($2::uuid[], $3::int[], $4::text[]) AS u (instance_id, variable, path)
WHERE i.shard = $1 AND i.instance_id = u.instance_id AND i.variable = u.variable AND i.path = u.path AND i.element = -1
