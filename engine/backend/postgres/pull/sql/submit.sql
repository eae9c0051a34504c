-- Stores new instances. $1 shard; $2 instance, $3 workflow, $4 input
INSERT INTO instances (shard, id, workflow, input, status)
SELECT $1, b.id, b.workflow, b.input, 'running'
FROM unnest($2::uuid[], $3::int[], $4::json[]) AS b (id, workflow, input)
ON CONFLICT (shard, id) DO NOTHING
RETURNING id
