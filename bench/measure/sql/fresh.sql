-- Makes the transaction read the sessions anew.
SELECT /* pulley:measure */ pg_stat_clear_snapshot()
