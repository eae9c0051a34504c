-- The table of the published benchmark of point writes: three columns, and a UUIDv7 as its key.
CREATE TABLE points (
    id         uuid PRIMARY KEY,
    payload    text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
