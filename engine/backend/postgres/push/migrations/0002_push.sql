-- One row for each node run that is ready and not completed. due_at is when it may be claimed: at once, when
-- a sleep or a retry's wait is over, or when its lease is. So one index serves queue, timers and reclaim. token
-- fences: it is new with each lease and each retry, and known to the holder of the lease only. owner, for
-- people, is who leased it; null: nobody has. A page keeps room for the version of a row that its claim makes:
-- one that must go to another page takes a lock more, and its record in the log.
CREATE TABLE queue (
    token       bigint      NOT NULL,
    due_at      timestamptz NOT NULL,
    instance_id uuid        NOT NULL,
    node        integer     NOT NULL,
    attempt     integer     NOT NULL CHECK (attempt > 0),
    owner       integer,
    shard       smallint    NOT NULL,
    path        text        NOT NULL COLLATE "C",
    args        json        NOT NULL,
    PRIMARY KEY (shard, instance_id, node, path)
) WITH (fillfactor = 50);

-- Only what asks for times can use it: rows that are looked up by their key must not be found through their shard,
-- whatever the statistics of a table say that is empty now and then.
CREATE INDEX queue_due ON queue (shard, due_at) WHERE due_at IS NOT NULL;

-- Who leases node runs: the engines' names.
CREATE TABLE owners (
    id   integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text    NOT NULL UNIQUE
);

-- The last commit of each place in which a backend commits, one after the other: its number, and which of the
-- completions that it was offered did not take place. By this an unknown commit is settled. Rows are changed
-- all the time, within their page.
CREATE TABLE commits (
    shard   smallint    NOT NULL,
    backend bigint      NOT NULL,
    slot    integer     NOT NULL,
    number  bigint      NOT NULL,
    stale   integer[]   NOT NULL,
    at      timestamptz NOT NULL,
    PRIMARY KEY (shard, backend, slot)
) WITH (fillfactor = 25);

-- One row for each barrier that something has arrived at, or whose count is known. soft says that
-- the barrier's soft group has been counted.
CREATE TABLE readiness (
    shard       smallint NOT NULL,
    instance_id uuid     NOT NULL,
    node        integer  NOT NULL,
    path        text     NOT NULL COLLATE "C",
    required    integer  NOT NULL,
    completed   integer  NOT NULL,
    soft        boolean  NOT NULL,
    PRIMARY KEY (shard, instance_id, node, path),
    CONSTRAINT readiness_overflow CHECK (completed <= required)
) WITH (fillfactor = 80);

-- Values that something downstream will read: a variable's value under element -1, and what was appended to
-- it from element 0.
CREATE TABLE inbox (
    shard       smallint NOT NULL,
    instance_id uuid     NOT NULL,
    variable    integer  NOT NULL,
    element     integer  NOT NULL,
    path        text     NOT NULL COLLATE "C",
    value       json     NOT NULL,
    PRIMARY KEY (shard, instance_id, variable, path, element)
);

-- Values that arrived at an aggregate which is not open yet, with their places in its list. Those that one
-- commit brings, and stand together in the list, have one row: first is the least of their places.
CREATE TABLE elements (
    shard       smallint  NOT NULL,
    instance_id uuid      NOT NULL,
    node        integer   NOT NULL,
    first       integer   NOT NULL,
    path        text      NOT NULL COLLATE "C",
    places      integer[] NOT NULL,
    vals        json[]    NOT NULL,
    PRIMARY KEY (shard, instance_id, node, path, first)
);
