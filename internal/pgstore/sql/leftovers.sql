-- Counts the rows of ended instances in a table.
SELECT count(*) FROM {table} t JOIN instances i ON i.shard = t.shard AND i.id = t.instance_id WHERE i.status <> 'running'
