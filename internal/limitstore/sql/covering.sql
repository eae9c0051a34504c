-- Locks the limits of instances that cover a workflow, by name, and returns how many instances each allows, its state, and whether it may
-- be looked which instances have ended. $1 workflow.
SELECT l.name, (l.spec ->> 'instances')::bigint, l.state, coalesce((l.state ->> 'look')::timestamptz <= clock_timestamp(), true)
FROM limits l
WHERE l.spec ->> 'instances' IS NOT NULL
    AND (coalesce(json_array_length(l.spec -> 'workflows'), 0) = 0 OR $1 IN (SELECT w FROM json_array_elements_text(l.spec -> 'workflows') w))
ORDER BY l.name
FOR UPDATE OF l
