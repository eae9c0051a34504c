-- Removes rows of ended instances, in key order. It waits for rows locked by completions, or skips them.
-- $1 shard, $2 instances, sorted, $3 most rows.
WITH old AS MATERIALIZED (
    SELECT r.at
    FROM unnest($2::uuid[]) AS u (id)
    CROSS JOIN LATERAL (
        SELECT ctid AS at FROM {table}
        WHERE shard = $1 AND instance_id = u.id
        ORDER BY {key}
        FOR UPDATE
--[ leave
        SKIP LOCKED
--]
    ) r
    LIMIT $3
)
DELETE FROM {table} t USING old WHERE t.ctid = old.at
