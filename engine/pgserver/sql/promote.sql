-- Promotes a standby, and reports whether it leads.
SELECT pg_promote(true) AND NOT pg_is_in_recovery()
