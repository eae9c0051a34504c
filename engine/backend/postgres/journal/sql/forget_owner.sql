-- $1 name.
DELETE FROM owners WHERE name = $1
