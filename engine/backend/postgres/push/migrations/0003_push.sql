-- The expired leases of the attempt before the current one. Leasing again counts the lease before; a returned lease is not
-- counted.
ALTER TABLE queue ADD COLUMN redeliveries integer NOT NULL DEFAULT 0;
