-- What is runnable and not in the ledger yet, of all running instances of a shard: one anti-join.
-- $1 shard.
SELECT i.id, i.workflow, a.node, a.path, a.required, a.arrived, a.args, a.finish
FROM (SELECT id, workflow FROM instances WHERE shard = $1 AND status = 'running' ORDER BY id OFFSET 0) i
CROSS JOIN LATERAL (
    SELECT a.node, a.path, max(a.required) AS required, count(*) FILTER (WHERE a.source <> 'open') AS arrived,
        max(a.args::text) AS args, max(a.finish::text) AS finish
    FROM arrivals a
    WHERE a.shard = $1 AND a.instance_id = i.id
    GROUP BY a.node, a.path
    HAVING count(*) FILTER (WHERE a.source <> 'open') >= max(a.required)
    OFFSET 0
) a
WHERE NOT EXISTS (
    SELECT FROM ledger l
    WHERE l.shard = $1 AND l.instance_id = i.id AND l.node = a.node AND l.path = a.path
    OFFSET 0
)
