-- Sets a default for new sessions of the database, or resets it if the value is empty.
DO $$
BEGIN
    IF current_setting('chaos.value') = '' THEN
        EXECUTE format('ALTER DATABASE %I RESET %I', current_database(), current_setting('chaos.name'));
    ELSE
        EXECUTE format('ALTER DATABASE %I SET %I = %L', current_database(), current_setting('chaos.name'), current_setting('chaos.value'));
    END IF;
END
$$
