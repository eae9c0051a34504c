-- Reads an instance. $1 shard, $2 id.
SELECT i.workflow, i.status, i.input, i.result, i.failure, i.submitted_at, i.ended_at, clock_timestamp()
FROM instances i WHERE i.shard = $1 AND i.id = $2
