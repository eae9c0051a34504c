INSERT INTO fan_in (instance, remaining, sum) VALUES ($1, $2, 0)
