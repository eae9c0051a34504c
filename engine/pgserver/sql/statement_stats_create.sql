-- Creates the source of statement counters. The library must be preloaded.
CREATE EXTENSION IF NOT EXISTS pg_stat_statements
