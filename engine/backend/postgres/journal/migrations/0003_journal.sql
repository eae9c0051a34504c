-- Whether the events, and the leases that came with a shard, tell of every delivery of an attempt: of a shard that was given back they do,
-- and of one whose owner is gone they do not, since the first delivery is in its memory only.
ALTER TABLE shards ADD COLUMN counted boolean NOT NULL DEFAULT true;

-- kind: 0 a result, 1 a failure, 2 a failure that is tried again, 3 the state of an instance that stands for all its events before,
-- 4 how often an attempt was delivered, written before it is delivered for the second time, the third, and so on.
COMMENT ON COLUMN events.kind IS '0 result, 1 failure, 2 retry, 3 state, 4 deliveries';
