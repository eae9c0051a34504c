-- The owner of each shard. epoch rises with each change of owner and fences what an earlier owner sends. It is part of a key that
-- appends lock: changing it waits for appends under way, renewing the lease does not.
CREATE TABLE shards (
    shard      smallint    NOT NULL PRIMARY KEY,
    epoch      bigint      NOT NULL DEFAULT 0,
    owner      text,
    previous   text, -- the owner of the epoch before; null: the shard was returned
    expires_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (shard, epoch)
) WITH (fillfactor = 20);

-- Engines that look for work, among which the shards are shared.
CREATE TABLE owners (
    name    text        NOT NULL PRIMARY KEY,
    seen_at timestamptz NOT NULL
) WITH (fillfactor = 20);

-- Events in the order of seq, which the owner counts. kind: 0 result, 1 failure, 2 failure that is retried, 3 snapshot, which
-- replaces all events of its instance before. happened_at is set only where time matters: where a sleep or the wait before a
-- retry began. epoch is the owner's; with seq it identifies what one append wrote.
CREATE TABLE events (
    shard       smallint NOT NULL,
    kind        smallint NOT NULL,
    node        integer  NOT NULL,
    seq         bigint   NOT NULL,
    epoch       bigint   NOT NULL,
    instance_id uuid     NOT NULL,
    path        text     NOT NULL COLLATE "C",
    data        bytea    NOT NULL,
    happened_at timestamptz,
    PRIMARY KEY (shard, seq)
);

-- Leases that a shard's owner returned with it; all others are in memory only.
CREATE TABLE leases (
    shard       smallint    NOT NULL,
    instance_id uuid        NOT NULL,
    node        integer     NOT NULL,
    path        text        NOT NULL COLLATE "C",
    token       bigint      NOT NULL,
    expires_at  timestamptz NOT NULL,
    PRIMARY KEY (shard, instance_id, node, path)
);

-- Calls forwarded to the owner of a shard, and their answers. They are short-lived: what a crash removes is sent again. An append
-- made for a request adds the tokens of the completions that it applies to applied, in its transaction, and is not applied if the
-- request is withdrawn.
CREATE UNLOGGED TABLE requests (
    shard     smallint    NOT NULL,
    id        uuid        NOT NULL,
    taken     boolean     NOT NULL DEFAULT false,
    withdrawn boolean     NOT NULL DEFAULT false,
    body      bytea       NOT NULL,
    answer    bytea,
    applied   bigint[],
    sent_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (shard, id)
);

-- pending marks an instance that another engine than the shard's owner stored, until the owner adopts it. snapshot is the seq of
-- the instance's snapshot.
ALTER TABLE instances ADD COLUMN pending boolean NOT NULL DEFAULT false, ADD COLUMN snapshot bigint;
CREATE INDEX instances_pending ON instances (shard) WHERE pending;
CREATE INDEX instances_running ON instances (shard, id) WHERE status = 'running';
