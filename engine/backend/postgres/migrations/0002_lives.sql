-- One row while the server lives, which a crash takes away: then the numbers of transactions that had not come to disk are
-- given to others.
CREATE UNLOGGED TABLE lives (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    id       uuid NOT NULL DEFAULT gen_random_uuid()
);
