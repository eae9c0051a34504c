-- Says on this connection, for as long as it lasts, that an engine is here, and tells all. $1 and $2 name the schema, $3 channel, $4 what they hear.
SELECT pg_advisory_lock_shared($1::int4, $2::int4)::text, pg_notify($3, $4)::text
