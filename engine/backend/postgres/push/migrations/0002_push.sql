-- One row for each node run that became ready, until the round of its loop or its instance ends. due_at is
-- when it may be claimed: at once, when a sleep or a retry's wait is over, or when its lease is. So one index
-- serves queue, timers and reclaim.
CREATE TABLE queue (
    shard       smallint    NOT NULL,
    instance_id uuid        NOT NULL,
    node        integer     NOT NULL,
    path        text        NOT NULL COLLATE "C",
    status      text        NOT NULL CHECK (status IN ('queued', 'leased', 'completed')),
    due_at      timestamptz NOT NULL,
    token       bigint      NOT NULL,
    attempt     integer     NOT NULL CHECK (attempt > 0),
    workflow    integer     NOT NULL,
    owner       text,
    args        json        NOT NULL,
    PRIMARY KEY (shard, instance_id, node, path)
);

CREATE INDEX queue_due ON queue (shard, due_at, token) WHERE status <> 'completed';

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

-- Values on their way: a variable's value under element -1 and what was appended to it from element 0, the
-- values of an aggregate's branches under their places in its list.
CREATE TABLE inbox (
    shard       smallint NOT NULL,
    instance_id uuid     NOT NULL,
    variable    integer  NOT NULL,
    path        text     NOT NULL COLLATE "C",
    element     integer  NOT NULL,
    value       json     NOT NULL,
    PRIMARY KEY (shard, instance_id, variable, path, element)
);
