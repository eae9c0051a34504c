-- Undoes join.sql, and notifies the peers. $1 and $2 name the schema, $3 channel, $4 payload.
SELECT pg_advisory_unlock_shared($1::int4, $2::int4), pg_notify($3, $4)::text
