-- Returns the stale completions of a commit; no row if it was not applied.
-- $1 shard, $2 backend, $3 slot, $4 number.
SELECT m.stale FROM commits m WHERE m.shard = $1 AND m.backend = $2 AND m.slot = $3 AND m.number = $4
