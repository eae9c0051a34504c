-- Gives new sessions of the database a setting, or, where the value is empty, takes it away again.
DO $$
BEGIN
    IF current_setting('chaos.value') = '' THEN
        EXECUTE format('ALTER DATABASE %I RESET %I', current_database(), current_setting('chaos.name'));
    ELSE
        EXECUTE format('ALTER DATABASE %I SET %I = %L', current_database(), current_setting('chaos.name'), current_setting('chaos.value'));
    END IF;
END
$$
