-- Checkpoints that the server has done. Postgres 17 and later.
SELECT /* pulley:measure */ c.num_timed + c.num_requested FROM pg_stat_checkpointer c
