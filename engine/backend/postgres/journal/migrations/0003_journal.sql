-- Whether the events, and the leases that came with a shard, record every delivery. They do if the shard was returned. They do
-- not if its owner exited, since first deliveries are in memory only.
ALTER TABLE shards ADD COLUMN counted boolean NOT NULL DEFAULT true;

-- kind 4: how often an attempt was delivered, written before each delivery but the first.
COMMENT ON COLUMN events.kind IS '0 result, 1 failure, 2 retry, 3 state, 4 deliveries';
