-- Counts checkpoints. Postgres 17 and later.
SELECT /* pulley:measure */ c.num_timed + c.num_requested FROM pg_stat_checkpointer c
