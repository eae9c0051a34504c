-- Describes the server. Settings have units.
SELECT /* pulley:measure */ jsonb_build_object(
    'version', current_setting('server_version'),
    'version_num', current_setting('server_version_num')::int,
    'settings', (SELECT jsonb_agg(jsonb_build_object('name', n.name, 'value', current_setting(n.name, true)) ORDER BY n.place)
        FROM unnest($1::text[]) WITH ORDINALITY AS n(name, place)
        WHERE current_setting(n.name, true) IS NOT NULL))
