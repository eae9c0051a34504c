COPY events (shard, seq, instance_id, kind, node, path, token, data) FROM STDIN (FORMAT binary)
