-- A row carries the arguments of its run itself: they are written, read and removed with it. Values that wait for
-- others, to be elements of an aggregate, are all that is pending.
ALTER TABLE node_ready_state ADD COLUMN args json;

UPDATE node_ready_state r SET args = p.payload
FROM node_pending_context p
WHERE p.shard = r.shard AND p.instance_id = r.instance_id AND p.node = r.node AND p.place = r.place AND p.element = -1;

DELETE FROM node_pending_context WHERE element = -1;

-- The round of a loop is in the paths of the runs of its body.
DROP TABLE loop_iteration_state;
