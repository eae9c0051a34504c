-- Workflows take turns in claims of engines that want it: workflow is set in rows that such an engine left here, or somebody who does not
-- know who claims, and in those of retries. Null: the row is claimed by time only, and no index has it twice.
ALTER TABLE queue ADD COLUMN workflow integer;

CREATE INDEX queue_by_workflow ON queue (shard, workflow, due_at) WHERE workflow IS NOT NULL;
