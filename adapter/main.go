package adapter

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// The exit statuses of Main.
const (
	statusBroken   = 1 // the conversation broke
	statusUnusable = 2 // the system cannot work here
)

// Main speaks with pulley on standard input and output until pulley ends the process, and exits. While it runs, os.Stdout is standard
// error, so that what anybody prints goes to the log and does not break a message.
func Main(system System) {
	out := os.Stdout
	os.Stdout = os.Stderr
	os.Exit(exit(Serve(context.Background(), os.Stdin, out, system)))
}

// exit says on standard error why a session ended, and returns the exit status.
func exit(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, ErrUnusable):
		fmt.Fprintln(os.Stderr, oneLine(err))
		return statusUnusable
	}
	fmt.Fprintln(os.Stderr, oneLine(err))
	return statusBroken
}
