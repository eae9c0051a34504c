-- Returns another limit that has one of the actions, and that action. $1 name, $2 actions.
SELECT o.name, a FROM limits o, json_array_elements_text(o.spec -> 'actions') a WHERE o.name <> $1 AND a = ANY ($2::text[]) ORDER BY 1, 2 LIMIT 1
