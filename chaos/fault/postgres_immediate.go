package fault

import "pulley/engine/pgserver"

// postgresImmediate stops the server without a checkpoint.
var postgresImmediate = serverStop("postgres.immediate", "the server is stopped at once, without a checkpoint, and recovers from its log", pgserver.StopImmediate)
