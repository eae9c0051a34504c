-- Where events stand many to a row, as no design has them: as many as a page takes. They are not compressed, since the values
-- that are written repeat each other as those of a workflow need not.
CREATE TABLE packs (
    shard smallint NOT NULL,
    seq   bigint   NOT NULL, -- of the first event
    epoch bigint   NOT NULL,
    data  bytea    NOT NULL,
    PRIMARY KEY (shard, seq)
);
ALTER TABLE packs ALTER COLUMN data SET STORAGE PLAIN;
