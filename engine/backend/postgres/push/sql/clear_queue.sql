-- Removes all queue rows of instances that this transaction ended and that nothing else works on. $1 shard, $2 instances.
DELETE FROM queue q USING unnest($2::uuid[]) AS e (instance_id) WHERE q.shard = $1 AND q.instance_id = e.instance_id
