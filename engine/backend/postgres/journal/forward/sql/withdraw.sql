-- Takes a request back: what was not done by now is not done any more. Gives whether it was begun with, the answer, and
-- the tokens of the completions that took place. It may be repeated. $1 shard, $2 id.
UPDATE requests SET withdrawn = true WHERE shard = $1 AND id = $2 RETURNING fetched, answer, applied, true
