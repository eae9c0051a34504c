TRUNCATE queue, inbox, readiness, instances;
