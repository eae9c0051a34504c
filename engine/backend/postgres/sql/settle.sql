-- What became of a transaction, if the server lives as it did when that began. $1 its id, $2 the server's life.
SELECT pg_xact_status($1::text::xid8) FROM lives WHERE id = $2::text::uuid
