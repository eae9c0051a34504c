UPDATE fan_in SET remaining = remaining - 1, sum = sum + $2 WHERE instance = $1 RETURNING remaining, sum
