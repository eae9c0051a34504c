COPY events (shard, kind, node, seq, epoch, instance_id, path, data) FROM STDIN (FORMAT binary)
