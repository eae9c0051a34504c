-- Shows this engine to its peers while the connection lasts, and notifies them. $1 and $2 name the schema, $3 channel, $4
-- payload.
SELECT pg_advisory_lock_shared($1::int4, $2::int4)::text, pg_notify($3, $4)::text
