-- Finds the workflows of a name, or of a file of that name in any directory. $1 name.
SELECT w.id
FROM (SELECT w.id, w.definition ->> 'name' AS name FROM workflows w OFFSET 0) w
WHERE w.name = $1::text OR right(w.name, length($1::text) + 1) = '/' || $1::text
