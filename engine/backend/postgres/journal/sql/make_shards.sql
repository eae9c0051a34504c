-- Inserts a row for each shard.
INSERT INTO shards (shard) SELECT generate_series(0, s.shards - 1) FROM store s ON CONFLICT DO NOTHING
