TRUNCATE queue, inbox, readiness;
