-- Reads what became of a transaction, if the server has not crashed since it began. $1 its id, $2 the server's incarnation then.
SELECT pg_xact_status($1::text::xid8) FROM incarnation WHERE id = $2::text::uuid
