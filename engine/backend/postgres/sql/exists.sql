-- Returns whether a schema is set up. $1 schema.
SELECT EXISTS (SELECT FROM pg_tables WHERE schemaname = $1 AND tablename = 'instances')
