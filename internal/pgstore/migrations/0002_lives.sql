-- One row, lost in a crash: after one, the ids of transactions that had not reached the disk are reused.
CREATE UNLOGGED TABLE lives (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    id       uuid NOT NULL DEFAULT gen_random_uuid()
);
