-- A counter is raised several times while its row stands. With room for that in its page, the new version needs no new entry in an
-- index, and no lock of its own in the log.
ALTER TABLE readiness SET (fillfactor = 50);
