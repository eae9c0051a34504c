-- Locks some tables of the stores one after another in random order, to cause deadlocks. Its long deadlock_timeout makes the
-- other sessions the victims.
DO $$
DECLARE
    t record;
BEGIN
    PERFORM set_config('deadlock_timeout', '2s', true);
    FOR t IN
        SELECT schemaname, tablename FROM pg_tables
        WHERE starts_with(schemaname, current_setting('chaos.schemas')) AND schemaname NOT IN ('pg_catalog', 'information_schema')
            AND tablename <> 'migrations'
        ORDER BY random() LIMIT 5
    LOOP
        EXECUTE format('LOCK TABLE %I.%I IN EXCLUSIVE MODE', t.schemaname, t.tablename);
        PERFORM pg_sleep(0.01);
    END LOOP;
END
$$
