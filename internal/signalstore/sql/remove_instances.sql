-- Removes all signals and waits of instances. $1 instances.
WITH waits AS (DELETE FROM signal_waits w WHERE w.instance_id = ANY ($1::uuid[]))
DELETE FROM signals s WHERE s.instance_id = ANY ($1::uuid[])
