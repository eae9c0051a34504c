-- Locks some tables of the stores one after the other, in an order by chance, so that others who have some of them and
-- want the next wait in a circle. Who waits longest before looking for one is not its victim.
DO $$
DECLARE
    t record;
BEGIN
    PERFORM set_config('deadlock_timeout', '2s', true);
    FOR t IN
        SELECT schemaname, tablename FROM pg_tables WHERE starts_with(schemaname, 'pulley') AND tablename <> 'migrations'
        ORDER BY random() LIMIT 5
    LOOP
        EXECUTE format('LOCK TABLE %I.%I IN EXCLUSIVE MODE', t.schemaname, t.tablename);
        PERFORM pg_sleep(0.01);
    END LOOP;
END
$$
