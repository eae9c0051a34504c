-- Adopts instances that other engines stored. $1 shard, $2 epoch, $3 most.
WITH fence AS MATERIALIZED (
    SELECT s.epoch FROM shards s WHERE s.shard = $1 AND s.epoch = $2 FOR KEY SHARE
), found AS MATERIALIZED (
    SELECT i.ctid AS at FROM instances i WHERE i.shard = $1 AND i.pending AND EXISTS (SELECT FROM fence)
    LIMIT $3
    FOR UPDATE
), taken AS (
    UPDATE instances i SET pending = false FROM found f WHERE i.ctid = f.at
    RETURNING i.id, i.workflow, i.input, i.status, i.submitted_at
)
SELECT id, workflow, input, (extract(epoch FROM clock_timestamp() - submitted_at) * 1000000)::bigint, 0::bigint
FROM taken WHERE status = 'running'
ORDER BY submitted_at, id
