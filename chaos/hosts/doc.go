// Package hosts gives each engine of a chaos run a host of its own, which is a container: it can be paused, killed, and
// taken off its network, and the engine's process in it with it.
//
// # Protocol
//
// [Open] makes a network that leads nowhere but to this machine, under [Hosts.Gateway]. What an engine is to reach
// listens there, by [Hosts.Listen]. [Hosts.Add] starts a host, which does nothing until [Host.Start] runs a process in
// it, as often as it is called: a host outlives its processes. [Hosts.Close] ends all.
//
// A process's standard input and output are named pipes that it shares with this process: the kernel's own, in a folder
// that the container sees. So they work while the host is off its network, and what a process has written before it is
// killed can be read to its end, as with any child.
//
// The program is this process's own file, which the container sees at [Program]; nothing of it is written to.
//
// # What is left behind
//
// A host's first process reads a stream that the Docker engine ends when this process has ended, however that was. Then
// it ends too, and the container goes. What that does not reach, a paused container or a network, has a label with the
// run's folder. Its lock goes with the run's process, and the next Open removes what belongs to a folder without one.
package hosts
