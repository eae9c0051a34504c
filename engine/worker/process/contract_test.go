package process

import (
	"os"
	"os/exec"
	"testing"

	"pulley/engine/worker"
	"pulley/engine/worker/workertest"
	"pulley/internal/depth"
	"pulley/internal/procenv"
)

// No process may be left.
func TestContract(t *testing.T) {
	t.Parallel()
	depth.Needs(t, "other processes")
	if _, err := exec.LookPath("setsid"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("CI must have setsid")
		}
		t.Skip("this needs setsid")
	}
	var mark string
	t.Cleanup(func() {
		if left := procenv.Find(mark, procenv.Settled); len(left) > 0 {
			t.Errorf("processes are left: %v", left)
		}
	})
	k := keeper(t)
	mark = k.Tag()
	workertest.Run(t, workertest.Harness{
		Func: func(t *testing.T, b workertest.Behaviour) worker.Func {
			a, err := New(Config{Command: []string{"./behave.sh", string(b)}, Dir: "testdata", AtOnce: 500}, k)
			if err != nil {
				t.Fatal(err)
			}
			return a.Run
		},
		Types: map[workertest.Behaviour]string{workertest.ActionDie: TypeKilled},
	})
}
