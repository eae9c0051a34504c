-- Withdraws a request: what was not applied by now never will be. Returns whether the owner fetched it, the answer, and the
-- tokens of the applied completions. May be repeated. $1 shard, $2 id.
UPDATE requests SET withdrawn = true WHERE shard = $1 AND id = $2 RETURNING fetched, answer, applied, true
