-- Has every commit wait until a standby, any one, has it on its disk.
ALTER SYSTEM SET synchronous_standby_names = '*'
