-- Statements of this database that clients sent, without those of the measuring session and without transaction
-- control, which is counted as commits and is only visible here when pg_stat_statements.track_utility is on.
-- {schema} is where the extension lives.
SELECT /* pulley:measure */ jsonb_build_object(
    'calls', coalesce(sum(s.calls) FILTER (WHERE
        coalesce(((to_jsonb(s) - 'query') ->> 'toplevel')::boolean, true)
        AND position('/* pulley:measure */' IN s.query) = 0
        AND s.query !~* '^\s*(begin|start\s+transaction|commit|end|rollback|abort|savepoint|release|prepare\s+transaction)\M'), 0),
    'track', current_setting('pg_stat_statements.track', true))
FROM {schema}.pg_stat_statements s
WHERE s.dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
