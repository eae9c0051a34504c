-- Takes back what join.sql says, and tells all. $1 and $2 name the schema, $3 channel, $4 what they hear.
SELECT pg_advisory_unlock_shared($1::int4, $2::int4), pg_notify($3, $4)::text
