-- Lists the tables of a schema. $1 schema.
SELECT c.relname FROM pg_class c WHERE c.relnamespace = $1::text::regnamespace AND c.relkind IN ('r', 'p') ORDER BY 1
