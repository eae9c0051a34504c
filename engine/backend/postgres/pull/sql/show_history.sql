-- Reads an instance's completed node runs in the order of their ends; the last ones if there are more. $1 shard, $2 instance, $3 most
-- rows to read, $4 most.
SELECT l.*
FROM (
    SELECT q.node, q.path, q.attempt, q.result, q.failure, q.done
    FROM (
        SELECT q.node, q.path, q.attempt, q.result, q.failure, q.done, q.status
        FROM ledger q WHERE q.shard = $1 AND q.instance_id = $2 LIMIT $3
    ) q
    WHERE q.status = 'completed'
    ORDER BY q.done DESC
    LIMIT $4
) l
ORDER BY l.done
