-- Reads all schedules.
SELECT s.id, s.name, s.workflow, s.input, s.spec, s.state, s.version, s.due_at FROM schedules s ORDER BY s.name
