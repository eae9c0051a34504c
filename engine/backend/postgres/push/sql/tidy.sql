-- Marks an instance that has ended as tidy, if it is: a pass that removed nothing may have waited for a
-- completion, or have met another pass, and not have seen the rows that those left. A completion that is
-- still at work holds a queue row, which is seen. $1 shard, $2 instance.
UPDATE instances i SET untidy = false
WHERE i.shard = $1 AND i.id = $2 AND i.untidy
    AND NOT EXISTS (SELECT FROM queue q WHERE q.shard = $1 AND q.instance_id = $2)
    AND NOT EXISTS (SELECT FROM readiness r WHERE r.shard = $1 AND r.instance_id = $2)
    AND NOT EXISTS (SELECT FROM elements e WHERE e.shard = $1 AND e.instance_id = $2)
    AND NOT EXISTS (SELECT FROM inbox v WHERE v.shard = $1 AND v.instance_id = $2)
