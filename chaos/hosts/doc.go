// Package hosts gives each engine of a chaos run a container of its own, which can be paused, killed and disconnected together
// with the engine's process.
//
// # Protocol
//
// [Open] makes a network that connects only to this machine, at [Hosts.Gateway]. [Hosts.Listen] listens there for an engine's
// connections. [Hosts.Add] starts a host, which does nothing until [Host.Start] runs a process in it; a host can run several, one
// after another. [Hosts.Close] ends everything.
//
// A process's standard input and output are named pipes in a folder that the container shares. They belong to the kernel, so they
// work while the host is disconnected, and what a killed process has written can be read to its end.
//
// The program is this process's own file, which the container sees at [Program], read-only.
//
// # Leftovers
//
// A host's first process reads a stream that the Docker engine closes when this process has ended, however it ended. Then the
// first process ends, and its container is removed. What remains, a paused container or a network, has a label with the run's
// folder. The folder's lock is released with the run's process, and the next Open removes what belongs to an unlocked folder.
package hosts
