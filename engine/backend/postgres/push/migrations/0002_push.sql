-- One row for each node run that is ready and not completed. due_at is when it may be claimed: at once, after a sleep or backoff,
-- or when its lease expires; so one index serves all three. token fences: it is new with each lease and retry, and known to the
-- lease's owner only. owner is informative; null: not leased. A page keeps room for the row version of a claim: moving to another
-- page needs another lock and WAL record.
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

-- Only queries by time can use it: rows looked up by key must not be found through their shard, even if statistics call the table
-- empty.
CREATE INDEX queue_due ON queue (shard, due_at) WHERE due_at IS NOT NULL;

-- The names of engines that lease node runs.
CREATE TABLE owners (
    id   integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text    NOT NULL UNIQUE
);

-- Commit slots: the last commit's number, and which of its completions were stale. They resolve unknown commits. Rows change all
-- the time, within their page.
CREATE TABLE commits (
    shard   smallint    NOT NULL,
    backend bigint      NOT NULL,
    slot    integer     NOT NULL,
    number  bigint      NOT NULL,
    stale   integer[]   NOT NULL,
    at      timestamptz NOT NULL,
    PRIMARY KEY (shard, backend, slot)
) WITH (fillfactor = 25);

-- One row for each barrier with an arrival or a known count. soft: its soft group has been counted.
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

-- Values to be read downstream: element -1 is a variable's value, those from 0 were appended.
CREATE TABLE inbox (
    shard       smallint NOT NULL,
    instance_id uuid     NOT NULL,
    variable    integer  NOT NULL,
    element     integer  NOT NULL,
    path        text     NOT NULL COLLATE "C",
    value       json     NOT NULL,
    PRIMARY KEY (shard, instance_id, variable, path, element)
);

-- Values that arrived at an aggregate not yet open, with their places in its list. Neighbours from one commit share a row; first
-- is their least place.
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
