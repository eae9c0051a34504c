-- The tables of every design: the number of shards, workflow definitions, instances.

CREATE TABLE store (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    shards   smallint NOT NULL CHECK (shards > 0)
);

CREATE TABLE workflows (
    id         integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    hash       bytea   NOT NULL UNIQUE,
    definition json    NOT NULL
);

-- status changes once. ended_by is the token of the completion that ended the instance. untidy: other tables may still hold rows
-- of an ended instance.
CREATE TABLE instances (
    shard        smallint    NOT NULL,
    id           uuid        NOT NULL,
    workflow     integer     NOT NULL,
    status       text        NOT NULL CHECK (status IN ('running', 'completed', 'failed', 'canceled')),
    untidy       boolean     NOT NULL DEFAULT false,
    input        json        NOT NULL,
    result       json,
    failure      json,
    ended_by     bigint,
    submitted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    ended_at     timestamptz,
    PRIMARY KEY (shard, id)
) WITH (fillfactor = 60); -- the end of an instance is written in the same page, without new index entries

CREATE INDEX instances_untidy ON instances (shard, id) WHERE untidy;

-- Fencing tokens: later is greater, in all tables.
CREATE SEQUENCE tokens AS bigint;
