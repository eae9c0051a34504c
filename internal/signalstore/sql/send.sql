-- Stores a signal, unless its id is there, or too many of its instance wait to be taken. $1 id, $2 instance, $3 name, $4 value, $5
-- keyed, $6 most of an instance.
INSERT INTO signals (id, instance_id, name, value, keyed)
SELECT $1, $2, $3, $4::text::json, $5
WHERE (SELECT count(*) FROM (SELECT FROM signals s WHERE s.instance_id = $2 AND NOT s.taken LIMIT $6) waiting) < $6
ON CONFLICT (id) DO NOTHING
