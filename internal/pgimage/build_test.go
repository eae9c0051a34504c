package pgimage_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"pulley/internal/depth"
)

// Before a change, the tests with Docker use the image that is copied from this machine.
func TestBothWaysMakeARootThatRuns(t *testing.T) {
	if !depth.Night() {
		t.Skip("debootstrap takes a minute: this is left to the night")
	}
	if os.Getuid() != 0 {
		t.Skip("this needs root")
	}
	for _, from := range []string{"", "debootstrap"} {
		dir := t.TempDir()
		build := exec.CommandContext(t.Context(), "/bin/sh", "build.sh", dir)
		build.Env = append(os.Environ(), "PULLEY_IMAGE_FROM="+from)
		build.Stderr = os.Stderr
		major, err := build.Output()
		if err != nil {
			t.Fatalf("from %q: %v", from, err)
		}
		server := "/usr/lib/postgresql/" + strings.TrimSpace(string(major)) + "/bin/postgres"
		for _, command := range [][]string{{server, "--version"}, {"setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "mktemp"}} {
			if out, err := exec.CommandContext(t.Context(), "chroot", append([]string{dir + "/root"}, command...)...).CombinedOutput(); err != nil {
				t.Errorf("from %q: %v: %v: %s", from, command, err, out)
			}
		}
	}
}
