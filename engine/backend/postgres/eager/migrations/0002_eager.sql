-- One row for each node of a running instance from its start, and for each node of each element of a spread once the number of
-- elements is known. place is the spread indices of a run's path: the rounds of a loop reuse the rows of its body, and path is
-- the round that a row serves now, empty before one reaches it. A node is ready when deps_satisfied = deps_required; null: a
-- spread's number of elements is unknown. soft: the node's soft group has been counted. is_queued: the run is leased; token and
-- attempt are of its last delivery. due_at: when it may be claimed: at once, after a wait, or when its lease expires.
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

-- Values pushed to nodes that have not run: the arguments of a ready action under element -1, the elements of an aggregate under
-- their places in its list.
CREATE TABLE node_pending_context (
    shard       smallint NOT NULL,
    instance_id uuid     NOT NULL,
    node        integer  NOT NULL,
    place       text     NOT NULL COLLATE "C",
    element     integer  NOT NULL,
    payload     json     NOT NULL,
    PRIMARY KEY (shard, instance_id, node, place, element)
);

-- Values of variables to be read downstream, under element -1, then what a loop appended, by index.
CREATE TABLE instance_eval_context (
    shard       smallint NOT NULL,
    instance_id uuid     NOT NULL,
    variable    integer  NOT NULL,
    scope       text     NOT NULL COLLATE "C",
    element     integer  NOT NULL,
    value       json     NOT NULL,
    PRIMARY KEY (shard, instance_id, variable, scope, element)
);

-- The round of each loop, by its head.
CREATE TABLE loop_iteration_state (
    shard         smallint NOT NULL,
    instance_id   uuid     NOT NULL,
    node          integer  NOT NULL,
    place         text     NOT NULL COLLATE "C",
    current_index integer  NOT NULL,
    PRIMARY KEY (shard, instance_id, node, place)
) WITH (fillfactor = 80);
