-- Reads the barriers of an instance that are not full. $1 shard, $2 instance, $3 most.
SELECT a.node, a.path, count(*) FILTER (WHERE a.source NOT IN ('open', 'resume'))::int, max(a.required)
FROM arrivals a
WHERE a.shard = $1 AND a.instance_id = $2
GROUP BY a.node, a.path
HAVING count(*) FILTER (WHERE a.source NOT IN ('open', 'resume')) < max(a.required)
ORDER BY a.node, a.path
LIMIT $3
