package world

import (
	"errors"
	"os"
	"testing"
)

// TestADiskThatIsLeftGoes checks that abandoned disks are removed and used ones are not.
func TestADiskThatIsLeftGoes(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	left, err := mountDisk()
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatalf("CI must be able to mount a disk: %v", err)
	}
	if err != nil {
		t.Skipf("this needs a mount: %v", err)
	}
	if err := left.lock.Close(); err != nil { // as the kernel does when a process is killed
		t.Fatal(err)
	}
	used, err := mountDisk()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left.home); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the disk that was left is still there: %v", err)
	}
	unmountLeft(os.TempDir())
	if err := errors.Join(used.Fill(), used.Free()); err != nil {
		t.Errorf("a disk in use was taken away: %v", err)
	}
	if err := used.Close(); err != nil {
		t.Error(err)
	}
}
