-- Returns the workflows of running instances. $1 shard, $2 instance.
SELECT w.id, i.workflow
FROM unnest($2::uuid[]) AS w (id)
CROSS JOIN LATERAL (
    SELECT i.workflow FROM instances i WHERE i.shard = $1 AND i.id = w.id AND i.status = 'running' OFFSET 0
) i
