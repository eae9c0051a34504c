package pool_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"pulley/engine/worker"
	"pulley/engine/worker/pool"
	"pulley/engine/worker/procgroup"
	"pulley/internal/depth"
	"pulley/internal/procenv"
)

// engineVariable makes the test's program an engine with a pool, which prints its mark and waits to be killed.
const engineVariable = "PULLEY_TEST_POOL_ENGINE"

// Each of the three workers has an attempt that started a process in its own session.
func beEngine() error {
	k, err := procgroup.New()
	if err != nil {
		return err
	}
	p, err := pool.New(pool.Config{Command: []string{os.Args[0]}, Env: map[string]string{workerVariable: workerPlan{}.text()}, Processes: 3}, k)
	if err != nil {
		return err
	}
	if err := p.Start(context.Background()); err != nil {
		return err
	}
	ended := make(chan error)
	for range 3 {
		go func() {
			_, err := p.Func("orphan_hang")(context.Background(), worker.Call{Args: json.RawMessage(`{"token":"x"}`)})
			ended <- err
		}()
	}
	fmt.Println(k.Tag())
	go func() { fmt.Println("error: an attempt ended:", <-ended) }()
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func TestSIGKILLOfTheEngine(t *testing.T) {
	depth.Needs(t, "other processes")
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("processes can only be found by their mark where there is a /proc")
	}
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), engineVariable+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	mark, err := bufio.NewReader(out).ReadString('\n')
	mark = strings.TrimSpace(mark)
	if err != nil || !strings.HasPrefix(mark, procgroup.Variable+"=") {
		t.Errorf("the engine says %q, %v", mark, err)
	} else {
		await(t, "all processes are there", func() bool { return len(procenv.Find(mark, procenv.Settled)) >= 9 }) // worker, shell, sleep
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	await(t, "nobody is left", func() bool { return len(procenv.Find(mark, procenv.Settled)) == 0 })
}
