-- The epoch in which the owner took the shard from another, or from nobody: who knows of a shard as it was in an epoch since then
-- knows that nobody else has had it, also where answers to its own taking were lost.
ALTER TABLE shards ADD COLUMN since bigint NOT NULL DEFAULT 1, DROP COLUMN previous;
