-- Reads what an instance was created from. $1 shard, $2 instance.
SELECT w.hash, i.input
FROM instances i
JOIN workflows w ON w.id = i.workflow
WHERE i.shard = $1 AND i.id = $2
