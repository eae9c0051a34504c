-- Fails if the extension does not exist, its library is not preloaded, or the user lacks the privilege.
SELECT count(*) FROM pg_stat_statements WHERE false
