-- Returns which instances have places. $1 limit, $2 instances.
SELECT a.instance_id FROM admissions a WHERE a.limit_name = $1 AND a.instance_id = ANY ($2::uuid[])
