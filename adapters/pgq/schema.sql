-- The adapter's own tables, beside those of PgQ, and functions in a schema, as PgQ's are.
CREATE SCHEMA adapter;

-- todo counts tasks without a value; result names the task whose value is the instance's.
CREATE TABLE instances (id text PRIMARY KEY, workload text NOT NULL, result text NOT NULL, todo int NOT NULL, value text);

CREATE TABLE tasks (instance text, task text, needs text[] NOT NULL, value text, PRIMARY KEY (instance, task));

-- add_event inserts the event of a task whose needs all have values, which it carries.
CREATE FUNCTION adapter.add_event(i text, t text) RETURNS bigint LANGUAGE sql AS $$
	SELECT pgq.insert_event('tasks', 'task', (
			SELECT coalesce(json_object_agg(n.task, n.value), '{}')::text FROM tasks n WHERE n.instance = i AND n.task = ANY (tasks.needs)),
		i, workload, t, NULL)
	FROM tasks JOIN instances ON id = instance WHERE instance = i AND task = t
$$;

-- submit stores those instances that are not there, and inserts the events of their tasks without needs. Two submissions of the same
-- ids lock them in one order.
CREATE FUNCTION adapter.submit(given json, workloads json) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	added record;
BEGIN
	FOR added IN
		INSERT INTO instances (id, workload, result, todo)
		SELECT i.id, i.workload, workloads->i.workload->>'result', json_array_length(workloads->i.workload->'tasks')
		FROM json_to_recordset(given) AS i(id text, workload text) ORDER BY i.id
		ON CONFLICT DO NOTHING RETURNING id, workload
	LOOP
		INSERT INTO tasks (instance, task, needs)
		SELECT added.id, t.name, ARRAY(SELECT json_array_elements_text(t.needs))
		FROM json_to_recordset(workloads->added.workload->'tasks') AS t(name text, needs json);
		PERFORM adapter.add_event(added.id, task) FROM tasks WHERE instance = added.id AND needs = '{}';
	END LOOP;
END
$$;

-- complete stores a task's value, and inserts the events of tasks that need nothing more. It returns the instance's value if the
-- instance has ended, now or before. A task's first value counts, and a later one changes nothing; if trusting, the last one counts.
CREATE FUNCTION adapter.complete(i text, t text, v text, trusting boolean) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	-- The instance is locked before its tasks, which two completions would lock in different orders. What follows sees the other's changes.
	PERFORM FROM instances WHERE id = i FOR UPDATE;
	UPDATE tasks SET value = v WHERE instance = i AND task = t AND (trusting OR value IS NULL);
	IF FOUND THEN
		PERFORM adapter.add_event(i, f.task) FROM tasks f WHERE f.instance = i AND t = ANY (f.needs)
			AND NOT EXISTS (SELECT FROM tasks n WHERE n.instance = i AND n.task = ANY (f.needs) AND n.value IS NULL);
		UPDATE instances SET todo = (SELECT count(*) FROM tasks WHERE instance = i AND tasks.value IS NULL),
			value = CASE WHEN result = t THEN v ELSE value END
		WHERE id = i;
	END IF;
	RETURN (SELECT value FROM instances WHERE id = i AND todo = 0);
END
$$;
