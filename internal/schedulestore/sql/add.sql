-- Stores a schedule, unless its id or name exists. $1 id, $2 name, $3 workflow, $4 input, $5 spec, $6 state, $7 due at.
INSERT INTO schedules (id, name, workflow, input, spec, state, due_at)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT DO NOTHING
