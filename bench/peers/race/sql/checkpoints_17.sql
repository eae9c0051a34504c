-- Counts checkpoints, from Postgres 17 on.
SELECT num_timed + num_requested FROM pg_stat_checkpointer
