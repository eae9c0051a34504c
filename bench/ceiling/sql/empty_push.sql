TRUNCATE queue, inbox, elements, readiness, instances;
