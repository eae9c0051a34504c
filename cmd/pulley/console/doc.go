// Package console is shared by pulley's commands: input and output, exit statuses, the flags that name a program or a server,
// and the reaction to signals.
package console
