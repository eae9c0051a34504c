-- Reports whether signals are due, and whether waits are. statement_timestamp can be compared with an index.
SELECT EXISTS (SELECT FROM signals s WHERE s.due_at <= statement_timestamp()), EXISTS (SELECT FROM signal_waits w WHERE w.due_at <= statement_timestamp())
