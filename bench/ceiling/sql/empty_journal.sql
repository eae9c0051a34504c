TRUNCATE events, packs, instances;
