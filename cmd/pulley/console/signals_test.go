package console_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"pulley/cmd/pulley/console"
)

const signalledProgram = "PULLEY_SIGNALLED_PROGRAM"

// A sender such as timeout signals twice: the second signal may come when the command has stopped, and is about to say why.
func TestASecondSignalLeavesTimeToSayWhy(t *testing.T) {
	t.Parallel()
	if os.Getenv(signalledProgram) != "" {
		runSignalled()
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), signalledProgram+"=1")
	out, err := cmd.CombinedOutput()
	var ended *exec.ExitError
	if !errors.As(err, &ended) || ended.ExitCode() != 128+int(syscall.SIGTERM) {
		t.Errorf("the program ends as %v, and not by itself, with status %d", err, 128+int(syscall.SIGTERM))
	}
	if want := "ended by a signal (terminated)\n"; !strings.HasSuffix(string(out), want) {
		t.Errorf("the program prints %q, and not %q", out, want)
	}
}

func runSignalled() {
	terminate := func() {
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			panic(err)
		}
	}
	ctx, stop := console.Interruptible()
	terminate()
	<-ctx.Done()
	stop()
	terminate()
	err := console.Ended(ctx, context.Cause(ctx))
	fmt.Println(err)
	var status *console.Status
	errors.As(err, &status)
	os.Exit(status.Code)
}
