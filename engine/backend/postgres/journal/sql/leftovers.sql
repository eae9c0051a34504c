-- Counts rows of ended instances by table. The full join forces a hash or merge join: with small estimates the planner would
-- choose a nested loop, and no index leads from an instance to its events.
SELECT 'events', count(e.seq) FILTER (WHERE i.status <> 'running')::int FROM events e FULL JOIN instances i ON i.shard = e.shard AND i.id = e.instance_id
UNION ALL
SELECT 'leases', count(*)::int FROM leases e JOIN instances i ON i.shard = e.shard AND i.id = e.instance_id WHERE i.status <> 'running'
UNION ALL
SELECT 'pending', count(*)::int FROM instances WHERE pending AND status <> 'running'
