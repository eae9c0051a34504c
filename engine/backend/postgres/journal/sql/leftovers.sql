-- What is stored for instances that have ended, by table. A full join is by hash or by order whatever the statistics say: where they
-- know of few events and few ended instances, a join of two tables would be tried row by row, and no index leads from an instance to its events.
SELECT 'events', count(e.seq) FILTER (WHERE i.status <> 'running')::int FROM events e FULL JOIN instances i ON i.shard = e.shard AND i.id = e.instance_id
UNION ALL
SELECT 'leases', count(*)::int FROM leases e JOIN instances i ON i.shard = e.shard AND i.id = e.instance_id WHERE i.status <> 'running'
UNION ALL
SELECT 'pending', count(*)::int FROM instances WHERE pending AND status <> 'running'
