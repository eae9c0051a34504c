-- Instances that have places under limits of instances, which are few rows: as many as the limits allow. They belong to no shard; shard
-- is the instance's. Rows of ended instances are removed when places are short.
CREATE TABLE admissions (
    limit_name  text        NOT NULL COLLATE "C",
    instance_id uuid        NOT NULL,
    shard       smallint    NOT NULL,
    since       timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (limit_name, instance_id)
);
