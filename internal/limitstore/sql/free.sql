-- Frees the places of instances that have ended, or were not stored within a minute. $1 limit.
DELETE FROM admissions a
WHERE a.limit_name = $1
    AND coalesce(
        (SELECT i.status <> 'running' FROM instances i WHERE i.shard = a.shard AND i.id = a.instance_id),
        a.since < clock_timestamp() - interval '1 minute'
    )
