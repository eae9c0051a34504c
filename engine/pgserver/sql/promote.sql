-- Has a standby lead, and says whether it does.
SELECT pg_promote(true) AND NOT pg_is_in_recovery()
