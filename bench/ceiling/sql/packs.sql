-- Holds as many events per row as fit a page; no design has such a table. Rows are not compressed, because the written
-- values repeat each other and a workflow's need not.
CREATE TABLE packs (
    shard smallint NOT NULL,
    seq   bigint   NOT NULL, -- of the first event
    epoch bigint   NOT NULL,
    data  bytea    NOT NULL,
    PRIMARY KEY (shard, seq)
);
ALTER TABLE packs ALTER COLUMN data SET STORAGE PLAIN;
