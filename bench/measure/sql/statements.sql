-- Statements of this database that clients sent, without those of the measuring session and without transaction
-- control, which is counted as commits and is only visible here when pg_stat_statements.track_utility is on.
-- {schema} is where the extension lives. Before Postgres 14 its view has no column toplevel, and the name means that of
-- "always". There may be thousands of texts, so each is looked at as little as will do.
SELECT /* pulley:measure */ jsonb_build_object(
    'calls', coalesce(sum(s.calls) FILTER (WHERE
        s.toplevel
        AND left(s.query, 64) !~* '^\s*(begin|start\s+transaction|commit|end|rollback|abort|savepoint|release|prepare\s+transaction)\M'
        AND position('/* pulley:measure */' IN s.query) = 0), 0),
    'track', current_setting('pg_stat_statements.track', true))
FROM (SELECT true AS toplevel) AS always
CROSS JOIN LATERAL (
    SELECT s.calls, s.query, toplevel
    FROM {schema}.pg_stat_statements s
    WHERE s.dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
) s
