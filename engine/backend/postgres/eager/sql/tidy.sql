-- Marks an instance that has ended as tidy, if it is: a pass that removed nothing may have waited for a
-- completion, or have met another pass, and not have seen the rows that those left. A completion that is
-- still at work holds the row of a node, which is seen. $1 shard, $2 instance.
UPDATE instances i SET untidy = false
WHERE i.shard = $1 AND i.id = $2 AND i.untidy
    AND NOT EXISTS (SELECT FROM node_ready_state t WHERE t.shard = $1 AND t.instance_id = $2)
    AND NOT EXISTS (SELECT FROM node_pending_context t WHERE t.shard = $1 AND t.instance_id = $2)
    AND NOT EXISTS (SELECT FROM instance_eval_context t WHERE t.shard = $1 AND t.instance_id = $2)
