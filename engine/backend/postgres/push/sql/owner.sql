-- Returns an owner's id, creating it if needed. $1 name.
INSERT INTO owners AS o (name) VALUES ($1)
ON CONFLICT (name) DO UPDATE SET name = excluded.name
RETURNING o.id
