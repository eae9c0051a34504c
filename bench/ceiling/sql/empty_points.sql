TRUNCATE points;
