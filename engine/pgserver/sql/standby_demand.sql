-- Makes every commit wait until any standby has it on disk.
ALTER SYSTEM SET synchronous_standby_names = '*'
