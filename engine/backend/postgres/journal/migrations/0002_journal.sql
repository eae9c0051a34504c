-- Who owns a shard. epoch grows with every change of hands and fences what an earlier owner sends; it is part
-- of a key, so that changing it waits for appends under way, which lock the key, and prolonging does not.
CREATE TABLE shards (
    shard      smallint    NOT NULL PRIMARY KEY,
    epoch      bigint      NOT NULL DEFAULT 0,
    owner      text,
    previous   text, -- the owner of the epoch before; null: the shard had been given back
    expires_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (shard, epoch)
) WITH (fillfactor = 20);

-- Engines that look for work, by which shards are spread.
CREATE TABLE owners (
    name    text        NOT NULL PRIMARY KEY,
    seen_at timestamptz NOT NULL
) WITH (fillfactor = 20);

-- What happened, one row each, in the order of seq, which the owner counts. kind: 0 a result, 1 a failure,
-- 2 a failure that is tried again, 3 the state of an instance that stands for all its events before.
-- happened_at is there only where time matters: where a sleep or the wait before a retry began. epoch is the owner's, and
-- with seq a name for what one append wrote.
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

-- Leases that went from hand to hand with their shard; otherwise they are in memory only.
CREATE TABLE leases (
    shard       smallint    NOT NULL,
    instance_id uuid        NOT NULL,
    node        integer     NOT NULL,
    path        text        NOT NULL COLLATE "C",
    token       bigint      NOT NULL,
    expires_at  timestamptz NOT NULL,
    PRIMARY KEY (shard, instance_id, node, path)
);

-- Calls to the owner of a shard by those who are not, and their answers. They live for moments: what a crash
-- takes is asked again. An append that is made for a request writes the tokens of the completions that it applies into
-- applied, in its transaction, and does not take place if the request is withdrawn.
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

-- pending marks an instance that was stored by somebody who is not the owner of its shard, until that knows of it.
-- snapshot is the seq of the event that has an instance's state, and stands for all of its before.
ALTER TABLE instances ADD COLUMN pending boolean NOT NULL DEFAULT false, ADD COLUMN snapshot bigint;
CREATE INDEX instances_pending ON instances (shard) WHERE pending;
CREATE INDEX instances_running ON instances (shard, id) WHERE status = 'running';
