-- Reads schedules. $1 names, in order.
SELECT s.id, s.name, s.workflow, s.input, s.spec, s.state, s.version, s.due_at
FROM unnest($1::text[]) AS w (name)
CROSS JOIN LATERAL (SELECT s.* FROM schedules s WHERE s.name = w.name OFFSET 0) s
