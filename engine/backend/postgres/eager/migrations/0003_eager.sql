-- A row now has its run's arguments, written, read and deleted with it. Only the elements of aggregates are still pending.
ALTER TABLE node_ready_state ADD COLUMN args json;

UPDATE node_ready_state r SET args = p.payload
FROM node_pending_context p
WHERE p.shard = r.shard AND p.instance_id = r.instance_id AND p.node = r.node AND p.place = r.place AND p.element = -1;

DELETE FROM node_pending_context WHERE element = -1;

-- The paths of the body's runs have the loop's round.
DROP TABLE loop_iteration_state;
