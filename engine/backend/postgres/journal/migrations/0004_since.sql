-- The epoch in which the owner took the shard from another, or from nobody. An engine that knows the shard as of that epoch or
-- later knows that no other had it since, also if answers to its own acquisition were lost.
ALTER TABLE shards ADD COLUMN since bigint NOT NULL DEFAULT 1, DROP COLUMN previous;
