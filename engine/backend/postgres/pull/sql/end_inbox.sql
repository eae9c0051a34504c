-- Removes the rows of instances that have ended, in key order. A row that a completion is changing is
-- waited for, and removed as that left it. $1 shard; $2 instances, sorted
DELETE FROM inbox WHERE shard = $1 AND instance_id = ANY ($2::uuid[])
