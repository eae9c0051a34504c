-- The ledger: a row for each node run that became runnable, with its result once it has one. due_at is
-- when it may be claimed; done orders the completions. args are kept where nothing else tells them: of a run
-- that waited for several steps, in scan=sql.
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

-- Only what asks for times can use it: rows that are looked up by their key must not be found through their shard,
-- whatever the statistics of a table say that is empty now and then.
CREATE INDEX ledger_due ON ledger (shard, due_at, token) WHERE status <> 'completed' AND due_at IS NOT NULL;

-- Instances that run, which is all that a cycle looks at.
CREATE INDEX instances_running ON instances (shard, id) WHERE status = 'running';

-- Of scan=sql: what has come about so far. One row for each step towards a node run that a completion,
-- a barrier or the beginning of the instance made: as many as required from different sources make the
-- run runnable. A barrier whose count became known has a row from the source open, which does not count
-- itself; all of a soft group are one source; the source resume stands for a traversal that is to be gone
-- on with at the run. args are those of a run that waits for nothing else, with values that are large left
-- where they are in the inbox; wait is how long a sleep is, in µs; finish is the end of the instance.
-- Arrivals that are watched begin something before all are there: the row from open tells up to which of
-- them that was done.
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

-- Of scan=sql: values on their way; a variable's under element -1 and what was appended to it under its
-- place behind that, those of an aggregate's branches under their places in its list.
CREATE TABLE inbox (
    shard       smallint NOT NULL,
    instance_id uuid     NOT NULL,
    variable    integer  NOT NULL,
    path        text     NOT NULL COLLATE "C",
    element     integer  NOT NULL,
    value       json     NOT NULL,
    PRIMARY KEY (shard, instance_id, variable, path, element)
);

-- Which scan the schema is for: neither can go on where the other was.
CREATE TABLE scans (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    scan     text NOT NULL CHECK (scan IN ('app', 'sql'))
);
