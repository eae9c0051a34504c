-- Fails where the extension is not created here, its library is not preloaded, or the user may not.
SELECT count(*) FROM pg_stat_statements WHERE false
