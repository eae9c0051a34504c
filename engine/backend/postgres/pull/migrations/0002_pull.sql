-- One row for each node run that became runnable, with its result once it has one. due_at: when it may be claimed; done orders
-- completions. args are stored only if nothing else has them: of a run that waited for several steps, in scan=sql.
CREATE TABLE ledger (
    shard       smallint    NOT NULL,
    instance_id uuid        NOT NULL,
    node        integer     NOT NULL,
    path        text        NOT NULL COLLATE "C",
    status      text        NOT NULL CHECK (status IN ('queued', 'leased', 'completed')),
    due_at      timestamptz NOT NULL,
    token       bigint      NOT NULL,
    attempt     integer     NOT NULL CHECK (attempt > 0),
    owner       text,
    args        json,
    done        bigint,
    result      json,
    failure     json,
    PRIMARY KEY (shard, instance_id, node, path)
);

-- Only queries by time can use it: rows looked up by key must not be found through their shard, even if statistics call the table
-- empty.
CREATE INDEX ledger_due ON ledger (shard, due_at, token) WHERE status <> 'completed' AND due_at IS NOT NULL;

-- Running instances, all that a scan reads.
CREATE INDEX instances_running ON instances (shard, id) WHERE status = 'running';

-- For scan=sql: one row for each step towards a node run, made by a completion, a barrier or the instance's start. A run is
-- runnable with as many steps from different sources as required. The source "open" is a barrier whose count became known; it is
-- no step itself. A soft group is one source. The source "resume" is a traversal to be continued at the run. args belong to a run
-- that waits for nothing else; large values stay in the inbox. wait is the length of a sleep in µs; finish is the end of the
-- instance. A watched barrier starts something before it is full: reached, in its row "open", is the last arrival continued.
CREATE TABLE arrivals (
    shard       smallint NOT NULL,
    instance_id uuid     NOT NULL,
    node        integer  NOT NULL,
    path        text     NOT NULL COLLATE "C",
    source      text     NOT NULL COLLATE "C",
    required    integer  NOT NULL,
    reached     integer  NOT NULL DEFAULT 0,
    watched     boolean  NOT NULL DEFAULT false,
    args        json,
    wait        bigint,
    finish      json,
    PRIMARY KEY (shard, instance_id, node, path, source)
);

-- For scan=sql: a variable's value under element -1, appended values under their index, those of an aggregate's branches under
-- their places in its list.
CREATE TABLE inbox (
    shard       smallint NOT NULL,
    instance_id uuid     NOT NULL,
    variable    integer  NOT NULL,
    path        text     NOT NULL COLLATE "C",
    element     integer  NOT NULL,
    value       json     NOT NULL,
    PRIMARY KEY (shard, instance_id, variable, path, element)
);

-- The scan of the schema: neither can continue the other's instances.
CREATE TABLE scans (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    scan     text NOT NULL CHECK (scan IN ('app', 'sql'))
);
