-- Gives places to the instances that run and have none, without regard to how many a limit allows. $1 limit, $2 workflows, none: all.
WITH running AS (
    INSERT INTO admissions (limit_name, instance_id, shard)
    SELECT $1, i.id, i.shard
    FROM instances i
    WHERE i.status = 'running' AND (cardinality($2::text[]) = 0 OR i.workflow IN (
        SELECT w.id FROM workflows w WHERE regexp_replace(w.definition ->> 'name', '^.*/', '') = ANY ($2)
    ))
    ON CONFLICT (limit_name, instance_id) DO NOTHING
    RETURNING 1
)
UPDATE limits l
SET state = json_build_object('admitted', (SELECT count(*) FROM admissions a WHERE a.limit_name = $1) + (SELECT count(*) FROM running))
WHERE l.name = $1
