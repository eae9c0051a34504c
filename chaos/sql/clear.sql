DELETE FROM instances WHERE id = ANY ($1) AND status <> 'running' AND NOT needs_cleanup
