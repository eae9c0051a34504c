// Package process runs an engine of a chaos run in a process of its own, and has both ends of its pipe.
//
// [Engine] is the main function of such a process. It reads a [Setup] and then an [Order] per line. It writes an event of the
// history per line before it acts, and a [Message] for everything else. Its store is witnessed and can be made to misbehave.
// [Start] starts a process, as a child or with a [Launcher], and receives its lines.
package process
