-- Returns the number of engines, and the rank of the one with connection $3. $1 and $2 name the schema.
SELECT count(*)::int, count(*) FILTER (WHERE l.pid < $3::int)::int
FROM pg_locks l
WHERE l.locktype = 'advisory' AND l.classid = $1::int4::oid AND l.objid = $2::int4::oid AND l.objsubid = 2
    AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
