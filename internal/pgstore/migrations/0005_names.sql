-- Ended instances need cleanup while other tables hold rows of them; the server has one incarnation between two crashes.
ALTER TABLE instances RENAME COLUMN untidy TO needs_cleanup;

ALTER INDEX instances_untidy RENAME TO instances_needing_cleanup;

ALTER TABLE lives RENAME TO incarnation;
