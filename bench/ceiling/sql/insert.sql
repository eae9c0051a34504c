INSERT INTO points (id, payload) VALUES ($1::uuid, $2::text)
