-- Gives the number of an owner, which it gets where it has none. $1 name.
INSERT INTO owners AS o (name) VALUES ($1)
ON CONFLICT (name) DO UPDATE SET name = excluded.name
RETURNING o.id
