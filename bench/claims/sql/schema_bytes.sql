-- Size of a schema's tables and indexes, in bytes. $1 schema
SELECT /* pulley:claims */ coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = $1 AND c.relkind = 'r'
