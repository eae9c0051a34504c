-- Returns what is runnable and not in the ledger, of running instances, with one anti-join. A watched barrier is returned
-- whenever it has more arrivals than those continued. $1 shard; $2 instances.
SELECT i.id, i.workflow, a.node, a.path, a.required, a.arrived, a.reached, a.watched, a.resumed, a.args, a.wait, a.finish
FROM unnest($2::uuid[]) AS c (id)
CROSS JOIN LATERAL (
    SELECT i.id, i.workflow FROM instances i WHERE i.shard = $1 AND i.id = c.id AND i.status = 'running' OFFSET 0
) i
CROSS JOIN LATERAL (
    SELECT a.node, a.path, max(a.required) AS required, count(*) FILTER (WHERE a.source <> 'open') AS arrived,
        max(a.reached) AS reached, bool_or(a.watched) AS watched, bool_or(a.source = 'resume') AS resumed,
        max(a.args::text) AS args, max(a.wait) AS wait, max(a.finish::text) AS finish
    FROM arrivals a
    WHERE a.shard = $1 AND a.instance_id = i.id
    GROUP BY a.node, a.path
    HAVING count(*) FILTER (WHERE a.source <> 'open') >= CASE WHEN bool_or(a.watched) THEN max(a.reached) + 1 ELSE max(a.required) END
    OFFSET 0
) a
WHERE NOT EXISTS (
    SELECT FROM ledger l
    WHERE l.shard = $1 AND l.instance_id = i.id AND l.node = a.node AND l.path = a.path
    OFFSET 0
)
