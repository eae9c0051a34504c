// Command peers races pulley's schedulers against other people's systems on one Postgres.
//
//	make peers
//
// Systems are named as pulley's backends are, push or push:batch=1, or as one of the rivals, river or
// river:connections=8. What each is, how it is tuned and what it cannot do is written into the record and
// the table. See package race for how a run is made, and package adapters for adding a rival.
//
// It is a module of its own: what the rivals depend on is no concern of those who use pulley. The tag
// notemporal leaves out Temporal, whose server takes minutes to compile for the first time.
package main
