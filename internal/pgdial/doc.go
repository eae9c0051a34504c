// Package pgdial connects to Postgres, directly or through a pooler such as PgBouncer.
//
// The designs need settings: their schema, plans by index, bounds on statements. A server takes them as startup parameters, which
// poolers refuse or ignore. A [Link] therefore asks the server first, through an ordinary connection:
//
//   - The process id in the handshake is that of the process that answers: the connection is direct. Settings are startup
//     parameters.
//   - Otherwise something pools connections. Settings are part of each transaction ([Transactions]), in its first round trip:
//     that works whichever server connection serves it. Statements are prepared by name if the pooler keeps track of names, and
//     otherwise sent anew each time.
//   - If the user says that the pooler pools sessions, settings are made once after each connect, and nothing else differs. A
//     pooler that gives two clients the same server process does not pool sessions, and is refused.
//
// Nothing of a session outlives a transaction of [Transactions]: no setting, no lock, no listening, no temporary table, and no
// prepared statement under a name that the pooler passes on as it is.
package pgdial
