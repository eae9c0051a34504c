-- Takes all places of a limit back. $1 limit.
DELETE FROM admissions a WHERE a.limit_name = $1
