-- Signals, and the node runs that wait for them. They belong to no shard, and nothing here is on the hot path of other work.
--
-- taken: a wait has the signal; its value is null when the wait has completed, and its row only stays if keyed, so that a repetition
-- is known. due_at: when an engine is to look which waits are for it, and later, whether its instance has ended.
CREATE TABLE signals (
    seq         bigint      NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id          uuid        NOT NULL UNIQUE,
    instance_id uuid        NOT NULL,
    name        text        NOT NULL COLLATE "C",
    value       json,
    keyed       boolean     NOT NULL,
    taken       boolean     NOT NULL DEFAULT false,
    sent_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    due_at      timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE INDEX signals_of ON signals (instance_id, name, seq);
CREATE INDEX signals_due ON signals (due_at);

-- token: of the node run's lease. signal: the one that it has taken, by seq. due_at: when an engine is to make the node run due; while
-- one does, when another may.
CREATE TABLE signal_waits (
    instance_id uuid        NOT NULL,
    node        integer     NOT NULL,
    path        text        NOT NULL COLLATE "C",
    token       bigint      NOT NULL,
    attempt     integer     NOT NULL,
    name        text        NOT NULL COLLATE "C",
    since       timestamptz NOT NULL,
    deadline    timestamptz,
    signal      bigint,
    timed_out   boolean     NOT NULL DEFAULT false,
    due_at      timestamptz NOT NULL,
    PRIMARY KEY (instance_id, node, path)
) WITH (fillfactor = 70);

CREATE INDEX signal_waits_due ON signal_waits (due_at);
