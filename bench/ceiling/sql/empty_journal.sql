TRUNCATE events;
