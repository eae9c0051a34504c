-- Reads all limits, and the time. Without one, a row has only the time.
SELECT clock_timestamp(), l.name, l.spec, l.state, l.version FROM (SELECT) one LEFT JOIN limits l ON true ORDER BY l.name
