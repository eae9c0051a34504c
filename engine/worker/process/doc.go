// Package process runs actions as programs: a process for each attempt.
//
// # What a program is given
//
// Its standard input is the arguments, one JSON object. Its environment is that of pulley, what the configuration adds, and:
//
//	PULLEY_ACTION    the action's name
//	PULLEY_INSTANCE  the instance's id
//	PULLEY_NODE      the node's name in the graph
//	PULLEY_PATH      the run's place in loops and spreads; empty outside of them
//	PULLEY_ATTEMPT   from 1; deliveries after a crash do not count
//	PULLEY_KEY       the same for every attempt and delivery of one node run, and for no other: what the program does to the
//	                 world should be guarded by it, since an attempt may be delivered more than once
//
// No shell stands between: the words of the command are the program's arguments as they are.
//
// # How an attempt ends
//
// A program that ends with status 0 has written its result to standard output: one JSON value, with white space around it at
// most. One that ends otherwise has failed. If the last line that it wrote to standard error is a JSON object with the texts
// type and message, these are the failure's. Everything else has a type of its own:
//
//	status 0, and no result, or none that is JSON in UTF-8     ResultError
//	more output than the limit                                 LimitExceeded; the program is killed
//	another status                                             ExitStatus, with the end of standard error
//	a signal                                                   Killed, with the end of standard error
//	more time than the limit or the node's timeout             Timeout; the program is ended
//	a program that cannot be started                           StartError
//
// # What a program leaves behind
//
// A program leads a process group of its own (see package procgroup). When an attempt is over, its group is killed, so that
// a process that the program started does not outlive it; the same happens at a timeout, when the attempt is cancelled and
// when the engine dies. A program that is to end is asked by SIGTERM first, and killed after Config.Grace.
package process
