-- Reads a definition. $1 number.
SELECT definition FROM workflows WHERE id = $1
