-- One row for each node of a running instance from its start, and for each node of each element of a
-- spread once the number of elements is known. place is the part of a run's path that are spread indices:
-- a loop's rounds use the rows of its body in turn, and path says for which round a row stands now, empty
-- where the round has not reached it. A node is ready when deps_satisfied = deps_required, whose null
-- means that the number of a spread's elements is not known yet; soft says that the node's soft group has
-- been counted. is_queued says that a worker has the run; token and attempt are of its last delivery.
-- due_at is when it may be handed out: at once, after a wait, or when its lease is over.
CREATE TABLE node_ready_state (
    shard          smallint NOT NULL,
    instance_id    uuid     NOT NULL,
    node           integer  NOT NULL,
    place          text     NOT NULL COLLATE "C",
    path           text     NOT NULL DEFAULT '' COLLATE "C",
    deps_required  integer,
    deps_satisfied integer  NOT NULL DEFAULT 0,
    soft           boolean  NOT NULL DEFAULT false,
    is_queued      boolean  NOT NULL DEFAULT false,
    is_completed   boolean  NOT NULL DEFAULT false,
    due_at         timestamptz,
    token          bigint,
    attempt        integer  NOT NULL DEFAULT 1 CHECK (attempt > 0),
    owner          text,
    PRIMARY KEY (shard, instance_id, node, place),
    CONSTRAINT readiness_overflow CHECK (deps_satisfied <= deps_required)
) WITH (fillfactor = 80);

CREATE INDEX node_ready ON node_ready_state (shard, due_at, token)
    WHERE deps_satisfied >= deps_required AND NOT is_completed AND token IS NOT NULL;

-- Payloads pushed to nodes that have not run yet: the arguments of a ready action under element -1, the
-- values of an aggregate's branches under their places in its list.
CREATE TABLE node_pending_context (
    shard       smallint NOT NULL,
    instance_id uuid     NOT NULL,
    node        integer  NOT NULL,
    place       text     NOT NULL COLLATE "C",
    element     integer  NOT NULL,
    payload     json     NOT NULL,
    PRIMARY KEY (shard, instance_id, node, place, element)
);

-- The values of variables that something downstream will read, under element -1, and behind them what a
-- loop has accumulated, by index.
CREATE TABLE instance_eval_context (
    shard       smallint NOT NULL,
    instance_id uuid     NOT NULL,
    variable    integer  NOT NULL,
    scope       text     NOT NULL COLLATE "C",
    element     integer  NOT NULL,
    value       json     NOT NULL,
    PRIMARY KEY (shard, instance_id, variable, scope, element)
);

-- The round that each loop is in, by its head.
CREATE TABLE loop_iteration_state (
    shard         smallint NOT NULL,
    instance_id   uuid     NOT NULL,
    node          integer  NOT NULL,
    place         text     NOT NULL COLLATE "C",
    current_index integer  NOT NULL,
    PRIMARY KEY (shard, instance_id, node, place)
) WITH (fillfactor = 80);
