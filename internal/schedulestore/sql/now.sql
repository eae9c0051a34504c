-- Reads the store's time, and when the next schedule is due.
SELECT clock_timestamp(), (SELECT s.due_at FROM schedules s WHERE s.due_at IS NOT NULL ORDER BY s.due_at LIMIT 1)
