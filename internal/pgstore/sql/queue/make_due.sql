-- Makes node runs due that are not leased, except locked ones, and returns all that are there, of running instances.
-- $1 shard; $2 ord, $3 instance, $4 node, $5 path.
WITH found AS MATERIALIZED (
    SELECT l.ord, q.at, q.later
    FROM unnest($2::int[], $3::uuid[], $4::int[], $5::text[]) AS l (ord, instance_id, node, path)
    CROSS JOIN LATERAL (
        SELECT FROM instances i WHERE i.shard = $1 AND i.id = l.instance_id AND i.status = 'running' OFFSET 0
    ) i
    CROSS JOIN LATERAL (
        SELECT q.ctid AS at, NOT ({leased}) AND q.due_at > clock_timestamp() AS later
        FROM {table} q
        WHERE q.shard = $1 AND q.instance_id = l.instance_id AND q.node = l.node AND q.{path} = l.path AND {ready}
        OFFSET 0
    ) q
), later AS MATERIALIZED (
    SELECT q.at
    FROM found f
    CROSS JOIN LATERAL (
        SELECT q.ctid AS at FROM {table} q WHERE q.ctid = f.at AND NOT ({leased}) FOR UPDATE SKIP LOCKED
    ) q
    WHERE f.later
), due AS (
    UPDATE {table} q SET due_at = clock_timestamp() FROM later l WHERE q.ctid = l.at
)
SELECT f.ord FROM found f
