-- Returns a shard with the leases on its node runs, and notifies other engines. $1 shard, $2 owner; $3 instance, $4 node, $5
-- path, $6 token, $7 rest of the lease in µs; $8 channel, $9 payload; $10 whether the leases record every delivery that no event
-- records; $11 the epoch of $10 and the leases: if another owner had the shard since, they do not count; $12 the shard's epoch: a
-- call that comes late, after this owner has acquired the shard anew, changes nothing.
WITH freed AS (
    UPDATE shards SET owner = NULL, counted = $10::boolean AND since <= $11::bigint, expires_at = clock_timestamp() WHERE shard = $1 AND owner = $2::text AND epoch = $12::bigint
    RETURNING since <= $11::bigint AS mine
), handed AS (
    INSERT INTO leases (shard, instance_id, node, path, token, expires_at)
    SELECT $1, l.instance_id, l.node, l.path, l.token, clock_timestamp() + l.rest * interval '1 microsecond'
    FROM unnest($3::uuid[], $4::int[], $5::text[], $6::bigint[], $7::bigint[]) AS l (instance_id, node, path, token, rest)
    WHERE EXISTS (SELECT FROM freed WHERE mine)
    ON CONFLICT DO NOTHING
)
SELECT pg_notify($8, $9) FROM freed
