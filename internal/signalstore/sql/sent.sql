-- Reports whether a signal is there. $1 id.
SELECT EXISTS (SELECT FROM signals s WHERE s.id = $1)
