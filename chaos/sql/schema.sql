SELECT set_config('search_path', quote_ident(schemaname), false) FROM pg_stat_user_tables WHERE relname = 'instances'
