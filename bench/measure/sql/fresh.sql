-- Makes the transaction's next look at the sessions a new one.
SELECT /* pulley:measure */ pg_stat_clear_snapshot()
