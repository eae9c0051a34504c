-- The measuring code reads statement counters from here. It needs the library to be preloaded.
CREATE EXTENSION IF NOT EXISTS pg_stat_statements
