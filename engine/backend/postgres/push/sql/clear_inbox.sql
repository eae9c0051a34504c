-- Removes all values of instances that this transaction ended and that nothing else works on. $1 shard, $2 instances.
DELETE FROM inbox i USING unnest($2::uuid[]) AS e (instance_id) WHERE i.shard = $1 AND i.instance_id = e.instance_id
