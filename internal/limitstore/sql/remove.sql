-- Removes a limit. $1 name.
DELETE FROM limits l WHERE l.name = $1
