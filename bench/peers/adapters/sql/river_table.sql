-- Where the members of a fan-out meet: River has no joins. Room in the pages keeps the updates within them.
CREATE TABLE fan_in (
    instance bigint PRIMARY KEY,
    remaining int NOT NULL,
    sum bigint NOT NULL
) WITH (fillfactor = 50)
