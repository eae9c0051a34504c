-- Removes all counters and values of instances that this transaction ended and that nothing else works on; node
-- runs have none that are open. Of what took place, see drop_values.sql.
-- $1 shard; $2 backend, $3 slot, $4 number of the commit, $5 whether all took place; $6 ord, $7 instance
WITH mark AS MATERIALIZED (
    SELECT m.stale FROM commits m WHERE m.shard = $1 AND m.backend = $2 AND m.slot = $3 AND m.number = $4
), over AS MATERIALIZED (
    SELECT e.instance_id
    FROM unnest($6::int[], $7::uuid[]) AS e (ord, instance_id)
    WHERE $5::boolean OR EXISTS (SELECT FROM mark m WHERE e.ord <> ALL (m.stale))
), counters AS MATERIALIZED (
    SELECT t.at FROM over o
    CROSS JOIN LATERAL (SELECT t.ctid AS at FROM readiness t WHERE t.shard = $1 AND t.instance_id = o.instance_id OFFSET 0) t
), vals AS MATERIALIZED (
    SELECT t.at FROM over o
    CROSS JOIN LATERAL (SELECT t.ctid AS at FROM inbox t WHERE t.shard = $1 AND t.instance_id = o.instance_id OFFSET 0) t
), parts AS MATERIALIZED (
    SELECT t.at FROM over o
    CROSS JOIN LATERAL (SELECT t.ctid AS at FROM elements t WHERE t.shard = $1 AND t.instance_id = o.instance_id OFFSET 0) t
), uncounted AS (
    DELETE FROM readiness t USING counters c WHERE t.ctid = c.at
), unvalued AS (
    DELETE FROM inbox t USING vals v WHERE t.ctid = v.at
)
DELETE FROM elements t USING parts p WHERE t.ctid = p.at
