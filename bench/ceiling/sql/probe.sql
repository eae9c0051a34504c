-- Holds the row whose update is the cost of a commit.
CREATE TABLE probe (id integer PRIMARY KEY, n bigint NOT NULL) WITH (fillfactor = 20);
INSERT INTO probe VALUES (1, 0);
