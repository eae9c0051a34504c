-- A counter is updated several times. With room in its page, a new version needs no index entry and no lock record in the WAL.
ALTER TABLE readiness SET (fillfactor = 50);
