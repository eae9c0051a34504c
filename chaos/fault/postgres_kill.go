package fault

import "pulley/engine/pgserver"

// postgresKill kills the server's first process.
var postgresKill = serverStop("postgres.kill", "the server's first process is killed with SIGKILL; it recovers from its log when it starts again", pgserver.StopKill)
