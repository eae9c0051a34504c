-- A request is fetched once, by the owner of its shard.
ALTER TABLE requests RENAME COLUMN taken TO fetched;
