-- How many leases of the attempt were over when the next began. What is leased again counts its lease before; a lease that was given
-- back leaves nothing to count.
ALTER TABLE ledger ADD COLUMN redeliveries integer NOT NULL DEFAULT 0;
