-- Takes a snapshot that the transaction keeps until its end.
SELECT count(*) FROM pg_namespace
