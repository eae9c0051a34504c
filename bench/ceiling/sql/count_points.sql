SELECT 'points', count(*) FROM points
