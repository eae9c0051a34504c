-- Reads a transaction's status, if the server has not crashed since it began. $1 its id, $2 the server's incarnation.
SELECT pg_xact_status($1::text::xid8) FROM incarnation WHERE id = $2::text::uuid
