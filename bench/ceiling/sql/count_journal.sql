-- How many completions the events tell of.
SELECT 'events', count(*) FROM events
