// Package console is shared by pulley's commands: input and output, exit statuses, flags for programs and servers, and the
// reaction to signals.
package console
