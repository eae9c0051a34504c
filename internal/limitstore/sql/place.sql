-- Gives instances places, and stores how many have some. $1 limit, $2 instances, $3 their shards, $4 how many have some, $5 for how many
-- µs it is not looked which have ended; null: it was not looked now.
WITH placed AS (
    INSERT INTO admissions (limit_name, instance_id, shard) SELECT $1, p.id, p.shard FROM unnest($2::uuid[], $3::smallint[]) AS p (id, shard)
    ON CONFLICT (limit_name, instance_id) DO UPDATE SET since = excluded.since
)
UPDATE limits l
SET state = json_build_object('admitted', $4::bigint, 'look', coalesce(to_json(clock_timestamp() + $5::bigint * interval '1 microsecond'), l.state -> 'look'))
WHERE l.name = $1
