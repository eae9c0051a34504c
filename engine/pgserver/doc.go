// Package pgserver finds a Postgres to work with, or starts one.
//
// # The protocol
//
// [Open] tries four ways, in this order, and says which one it took:
//
//  1. A DSN, from [Options.DSN] or PULLEY_DSN. Somebody who names a server means that server: when
//     it cannot be used, Open fails and tries nothing else.
//  2. Local binaries: a postgres on the PATH, then in the places where distributions and Homebrew
//     put one. The server lives in a private directory and answers on a unix socket in it, on no
//     network port. When the caller is root, it runs under another account, as Postgres demands.
//  3. Docker, through testcontainers-go.
//  4. A downloaded build, through embedded-postgres; started like local binaries.
//
// Every way ends with the same check, a query: the server is new enough ([MinVersion]), it accepts
// writes, and the user may create schemas. What it answers about its durability settings is kept
// ([Server.Durability]), because a figure about durable work means nothing without them. Servers
// that we start have fsync, synchronous_commit and full_page_writes on.
//
// # Who ends a server, and when
//
// A server given by a DSN is left alone. A server that we started belongs to the process that
// started it and must not outlive it, whatever ends that process:
//
//   - [Server.Close] ends it and removes its directory. Closing twice is safe.
//   - If the process ends in any other way, SIGKILL included, a watchdog does it: a small shell that
//     holds the reading end of a pipe whose writing end only our process has. The kernel closes that
//     end when the process dies; the watchdog reads the end of the file, stops the server, removes
//     its directories and ends. It has its own session, so a signal to our process group does not
//     reach it, nor the server.
//   - If the watchdog was killed too, the next Open in the same temporary directory does its work.
//     A directory in use is told from a leftover by a lock (flock) that the owner holds: the kernel
//     drops it with the process, so the test cannot go stale as a process id can.
//   - A container holds on to us in the same way: its first process reads its standard input, an
//     attached stream which ends with our process, and the container removes itself. Containers that
//     were created and never started are removed by the next Open. A [Container] can be paused, killed and taken off
//     its network for a test; when it was killed, what holds on to us is attached again as soon as it runs.
//
// # A standby
//
// A server that runs from binaries can be followed by a standby in the same place ([Server.AddStandby]): from then on no
// commit is answered before the standby has it. [Server.Promote] kills the server and has the standby take over. The
// DSN leads to whoever leads: it names a socket, which by then is a link to the standby's own.
//
// # Failure
//
// A way that does not work is reported through [Options.Log] and the next is tried. When none works
// the error wraps [ErrNoPostgres] and names, on one line, what each way lacks and what to do. No
// message ever holds the password of a DSN.
package pgserver
