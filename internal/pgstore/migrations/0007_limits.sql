-- Limits, which engines share. spec is what the user wrote, and state is what engines have of it; both are package limit's. version
-- rises with each change, which it guards; it begins with the time, so that a limit that was removed and set again does not repeat
-- one. There are few rows, and none on the hot path: they belong to no shard.
CREATE TABLE limits (
    name    text   NOT NULL PRIMARY KEY COLLATE "C",
    spec    json   NOT NULL,
    state   json   NOT NULL DEFAULT '{}',
    version bigint NOT NULL DEFAULT extract(epoch FROM clock_timestamp()) * 1000000
) WITH (fillfactor = 20);
