// Command pulley runs workflows on durable schedulers, compares the schedulers, and draws the graphs that workflows compile to.
//
// # Exit statuses
//
//	0    success: the instance of pulley run completed, every run of pulley compare was valid
//	1    the instance failed, was canceled, or had ended before it could be; a run was not valid; an
//	     invariant was violated in pulley chaos or sim; pulley gate shows a regression; or pulley doctor found no way to a Postgres
//	2    there is no result: a mistake in the command line, a refused program or input, an unusable
//	     database, a timeout, an output that cannot be written
//	3    pulley chaos or sim is inconclusive: less happened than required; or the run of pulley bench is
//	     invalid, or overloaded; or pulley knee does not decide where the knee is;
//	     or the runs of pulley gate decide nothing
//	70   a bug in pulley
//	130  interrupted by Ctrl-C; 143 by SIGTERM, 129 by SIGHUP
//
// Results go to standard output, whole or not at all. Everything else goes to standard error, one line per event; a mistake in
// a file begins with file:line:col. The first signal ends a command in an orderly way, within seconds. A signal more than a
// second later ends it at once. Either also ends a server that the command started.
//
// A command is a struct with its flags and a Run method, in its own file.
package main
