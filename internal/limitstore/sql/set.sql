-- Stores a limit, or replaces the one of its name, unless another one has one of its actions. $1 name, $2 spec, $3 actions.
INSERT INTO limits AS l (name, spec)
SELECT $1, $2::text::json
WHERE NOT EXISTS (
    SELECT FROM limits o, json_array_elements_text(o.spec -> 'actions') a WHERE o.name <> $1 AND a = ANY ($3::text[])
)
ON CONFLICT (name) DO UPDATE SET spec = excluded.spec, version = l.version + 1
