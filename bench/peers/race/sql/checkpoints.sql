-- Counts checkpoints, up to Postgres 16.
SELECT checkpoints_timed + checkpoints_req FROM pg_stat_bgwriter
