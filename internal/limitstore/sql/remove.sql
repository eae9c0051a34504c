-- Removes a limit, and its places. $1 name.
WITH places AS (DELETE FROM admissions a WHERE a.limit_name = $1)
DELETE FROM limits l WHERE l.name = $1
