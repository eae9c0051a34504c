-- Marks an instance that has ended as tidy. $1 shard, $2 instance.
UPDATE instances SET untidy = false WHERE shard = $1 AND id = $2 AND untidy
