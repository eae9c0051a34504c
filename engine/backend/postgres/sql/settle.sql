-- What became of a transaction. $1 its id.
SELECT pg_xact_status($1::text::xid8)
