-- Counts the members of a fan-out: River has no joins. The fill factor keeps updates within their pages.
CREATE TABLE fan_in (
    instance bigint PRIMARY KEY,
    remaining int NOT NULL,
    sum bigint NOT NULL
) WITH (fillfactor = 50)
