-- Reads what must be known about a server before use. A setting that a server lacks (some speak Postgres' protocol without
-- being Postgres) is an empty text. $1 is a schema that will be used.
SELECT current_setting('server_version_num')::int                  AS version,
       coalesce(current_setting('fsync', true), '')                AS fsync,
       coalesce(current_setting('synchronous_commit', true), '')   AS synchronous_commit,
       coalesce(current_setting('full_page_writes', true), '')     AS full_page_writes,
       coalesce(current_setting('wal_level', true), '')            AS wal_level,
       coalesce(current_setting('wal_sync_method', true), '')      AS wal_sync_method,
       coalesce(current_setting('data_checksums', true), '')       AS data_checksums,
       current_setting('transaction_read_only') = 'on'             AS read_only,
       has_database_privilege(current_database(), 'CREATE')        AS may_create,
       EXISTS (SELECT FROM pg_namespace n WHERE n.nspname = $1 AND has_schema_privilege(n.oid, 'USAGE')) AS has_schema,
       pg_backend_pid()                                            AS pid
