-- Counts checkpoints. Up to Postgres 16.
SELECT /* pulley:measure */ b.checkpoints_timed + b.checkpoints_req FROM pg_stat_bgwriter b
