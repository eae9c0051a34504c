// Package process runs actions as programs: a process for each attempt.
//
// # Input
//
// A program's standard input is the arguments, one JSON object. Its environment is pulley's, with the configuration's
// variables, and:
//
//	PULLEY_ACTION    the action's name
//	PULLEY_INSTANCE  the instance's id
//	PULLEY_NODE      the node's name in the graph
//	PULLEY_PATH      the run's place in loops and spreads; empty outside of them
//	PULLEY_ATTEMPT   from 1; deliveries after a crash do not count
//	PULLEY_KEY       the same for all attempts and deliveries of a node run: the program should guard its effects by it,
//	                 since an attempt may be delivered more than once
//	TRACEPARENT      the attempt's span, where package spans records one
//
// There is no shell: the words of the command are the program's arguments.
//
// # How an attempt ends
//
// A program that exits with status 0 has written its result to standard output: one JSON value, possibly with white space
// around it. Any other has failed. If the last line of its standard error is a JSON object with the texts type and message,
// these are the failure's. Other failure types are:
//
//	status 0, and no result, or none that is JSON in UTF-8     ResultError
//	more output than the limit                                 LimitExceeded; the program is killed
//	another status                                             ExitStatus, with the end of standard error
//	a signal                                                   Killed, with the end of standard error
//	more time than the limit or the node's timeout             Timeout; the program is ended
//	a program that cannot be started                           StartError
//
// # Process groups
//
// A program leads its own process group (see package procgroup). When an attempt ends, is cancelled or times out, or when the
// engine dies, the group is killed, so that no process that the program started outlives it. A program that must end receives
// SIGTERM first, and SIGKILL after Config.Grace.
package process
