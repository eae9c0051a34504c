// Package process is an engine of a chaos run in a process of its own, and both ends of the pipe to it.
//
// [Engine] is the main function of such a process. It reads a [Setup] and then an [Order] a line, and writes what it sees, an
// event of the history a line, before it goes on, and a [Saying] for what is no event. Its store is witnessed, and can be made to
// misbehave. [Start] starts one, as a child or as a [Launcher] does it, and hears what it says.
package process
