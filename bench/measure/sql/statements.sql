-- Sums up the statements that clients sent to this database, without those of the measuring session and without
-- transaction control, which commits count and which is visible only with pg_stat_statements.track_utility. {schema} is the
-- extension's. Before Postgres 14 its view has no column toplevel. There may be thousands of texts, so each is examined as
-- little as possible.
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
