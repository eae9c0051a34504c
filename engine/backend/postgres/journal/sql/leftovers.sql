-- What is stored for instances that have ended, by table.
SELECT 'events', count(*)::int FROM events e JOIN instances i ON i.shard = e.shard AND i.id = e.instance_id WHERE i.status <> 'running'
UNION ALL
SELECT 'leases', count(*)::int FROM leases e JOIN instances i ON i.shard = e.shard AND i.id = e.instance_id WHERE i.status <> 'running'
UNION ALL
SELECT 'pending', count(*)::int FROM instances WHERE pending AND status <> 'running'
