-- Small values of variables that are written once stand together in one row for each commit that brings some: variable is then
-- negative, and value a list in which each variable stands before its value. Barriers that the same edges lead to have one counter,
-- that of the first, which those of instances that are under way have, too. Nothing that is stored changes.
COMMENT ON TABLE inbox IS 'values that something downstream will read, by variable; where that is negative, those of several';
