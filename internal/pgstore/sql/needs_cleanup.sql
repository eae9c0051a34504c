-- Returns instances that need cleanup. $1 shard, $2 most.
SELECT id FROM instances WHERE shard = $1 AND needs_cleanup ORDER BY id LIMIT $2
