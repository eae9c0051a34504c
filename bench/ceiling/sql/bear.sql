-- Submits instances: $1 shard, $2 instances, $3 workflows, $4 inputs.
INSERT INTO instances (shard, id, workflow, input, status)
SELECT $1::smallint, n.id, n.workflow, n.input, 'running'
FROM unnest($2::uuid[], $3::int[], $4::json[]) AS n (id, workflow, input)
