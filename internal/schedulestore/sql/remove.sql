-- Removes a schedule. $1 name.
DELETE FROM schedules WHERE name = $1
