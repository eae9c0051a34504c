-- Reads the signals of an instance that nothing has taken. $1 instance, $2 most.
SELECT s.id, s.name, s.value, s.keyed, s.sent_at FROM signals s WHERE s.instance_id = $1 AND NOT s.taken ORDER BY s.seq LIMIT $2
