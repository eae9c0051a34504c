TRUNCATE events, instances;
