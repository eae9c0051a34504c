-- Schedules, which start instances at planned times. spec is what the user wrote, and state is where the schedule stands; both are
-- package schedule's. due_at: when an engine is to decide it again; while one does, when its lease ends; null: never. version
-- rises with each claim and each save, which it guards. There are few rows, and none on the hot path: they belong to no shard.
CREATE TABLE schedules (
    id       uuid    NOT NULL PRIMARY KEY,
    name     text    NOT NULL UNIQUE COLLATE "C",
    workflow integer NOT NULL,
    input    json    NOT NULL,
    spec     json    NOT NULL,
    state    json    NOT NULL,
    version  bigint  NOT NULL DEFAULT 1,
    due_at   timestamptz
) WITH (fillfactor = 50);

CREATE INDEX schedules_due ON schedules (due_at) WHERE due_at IS NOT NULL;
