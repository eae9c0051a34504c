// Command peers races pulley's schedulers against other systems on one Postgres.
//
//	make peers
//
// Systems are named as pulley's backends are, push or push:batch=1, or by the other system, river or river:connections=8. The
// record and the table state what each is, how it is tuned and what it cannot do. Package race describes a run, package
// adapters how to add a system.
//
// It is a separate module, so that users of pulley do not depend on the other systems. The tag notemporal omits Temporal, whose
// server takes minutes to compile the first time.
package main
