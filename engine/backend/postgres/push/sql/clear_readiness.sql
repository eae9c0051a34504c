-- Removes all counters of instances that this transaction ended and that nothing else works on. $1 shard, $2 instances.
DELETE FROM readiness r USING unnest($2::uuid[]) AS e (instance_id) WHERE r.shard = $1 AND r.instance_id = e.instance_id
