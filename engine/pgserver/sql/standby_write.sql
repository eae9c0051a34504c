-- Makes a commit write to the log, and so wait for a standby.
SELECT pg_logical_emit_message(true, 'pulley', '')
