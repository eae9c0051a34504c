-- Locks every table of the stores until the transaction ends.
DO $$
DECLARE
    t record;
BEGIN
    FOR t IN
        SELECT schemaname, tablename FROM pg_tables
        WHERE starts_with(schemaname, current_setting('chaos.schemas')) AND schemaname NOT IN ('pg_catalog', 'information_schema')
        ORDER BY 1, 2
    LOOP
        EXECUTE format('LOCK TABLE %I.%I', t.schemaname, t.tablename);
    END LOOP;
END
$$
