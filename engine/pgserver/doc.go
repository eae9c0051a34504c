// Package pgserver finds a Postgres to work with, or starts one.
//
// # The protocol
//
// [Open] tries four ways, in this order, and reports which one it used:
//
//  1. A DSN, from [Options.DSN] or PULLEY_DSN. A named server is meant: when it cannot be used, Open
//     fails and tries nothing else.
//  2. Local binaries: a postgres on the PATH, then in the places of distributions and Homebrew.
//     The server runs in a private directory and listens on a unix socket in it, on no network
//     port. If the caller is root, it runs under another account, as Postgres demands.
//  3. Docker.
//  4. A downloaded build, through embedded-postgres; started like local binaries.
//
// Every way ends with a query that checks that the server is new enough ([MinVersion]), accepts writes, and lets the user
// create schemas. Its durability settings are kept ([Server.Durability]), because a figure about durable work means nothing
// without them. Servers that we start have fsync, synchronous_commit and full_page_writes on.
//
// # The end of a server
//
// A server given by a DSN is left alone. A server that we started belongs to the process that started it and must not outlive
// it, however that process ends:
//
//   - [Server.Close] ends it and removes its directory. Closing twice is safe.
//   - If the process ends in any other way, SIGKILL included, a watchdog does it: a small shell that
//     reads a pipe whose writing end only our process has. When the process dies, the kernel closes
//     the pipe; the watchdog then stops the server, removes its directories and exits. It has its
//     own session, so that a signal to our process group reaches neither it nor the server.
//   - If the watchdog was killed too, the next Open in the same temporary directory does its work.
//     It distinguishes a directory in use from a leftover by the owner's lock (flock): the kernel
//     releases it with the process, so it cannot become outdated like a process id.
//   - A container works in the same way: its first process reads its standard input, a stream that
//     ends with our process, and the container removes itself. The next Open removes containers that
//     were created and never started. Tests can pause and kill a [Container] and take it off its
//     network; after a kill, the stream is attached again as soon as it runs.
//
// # A standby
//
// A server that runs from binaries can have a standby in the same place ([Server.AddStandby]): from then on no commit is
// answered before the standby has it. [Server.Promote] kills the server and lets the standby take over. The DSN names a socket,
// which then is a link to the standby's own.
//
// # Failure
//
// A failed way is reported through [Options.Log] and the next is tried. When all fail the error wraps [ErrNoPostgres] and
// names, on one line, what each way lacks and what to do. No message contains the password of a DSN.
package pgserver
