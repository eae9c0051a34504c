package pool_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"pulley/engine/backend"
	"pulley/engine/worker"
	"pulley/engine/worker/pool"
)

const benchProcesses = 2

// BenchmarkOfBare compares the rate of attempts at an action that does nothing with a bare loop, which exchanges JSON lines
// with the same workers. Both have equally many lines in flight per worker, and alternate. ratio compares the rates: 1 means
// that an attempt costs no more than its lines.
func BenchmarkOfBare(b *testing.B) {
	for _, slots := range []int{1, 16} {
		b.Run(fmt.Sprint("slots=", slots), func(b *testing.B) {
			plan := workerPlan{Slots: slots, Serial: true}
			loops := make([]*bareLoop, benchProcesses)
			for i := range loops {
				loops[i] = startBare(b, plan)
			}
			p, _ := start(b, pool.Config{Processes: benchProcesses}, plan)
			reg, err := worker.NewRegistry(p.Actions()...)
			if err != nil {
				b.Fatal(err)
			}
			const block = 1000 // attempts of each worker in a turn
			turns := [2]func(){
				func() {
					var all sync.WaitGroup
					for _, l := range loops {
						all.Go(func() { l.run(b, slots, block) })
					}
					all.Wait()
				},
				func() {
					var all sync.WaitGroup
					for range benchProcesses * slots {
						all.Go(func() { attempts(b, reg, block/slots) })
					}
					all.Wait()
				},
			}
			var spent [2]time.Duration
			for b.Loop() {
				for i, turn := range turns {
					began := time.Now()
					turn()
					spent[i] += time.Since(began)
				}
			}
			each := float64(b.N * benchProcesses)
			bare, ours := each*block/spent[0].Seconds(), each*float64(block/slots*slots)/spent[1].Seconds()
			b.ReportMetric(ours/bare, "ratio")
			b.ReportMetric(bare, "bare/s")
			b.ReportMetric(ours, "attempts/s")
		})
	}
}

func attempts(b *testing.B, reg *worker.Registry, n int) {
	task := backend.Task{Action: "noop", Args: json.RawMessage(`{"x":1}`), Attempt: 1}
	for range n {
		if _, failure := reg.Execute(b.Context(), task); failure != nil {
			b.Error(failure)
			return
		}
	}
}

type bareLoop struct {
	in   io.WriteCloser
	out  *bufio.Reader
	next int
}

func startBare(b *testing.B, plan workerPlan) *bareLoop {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), workerVariable+"="+plan.text())
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	l := &bareLoop{in: in, out: bufio.NewReader(out)}
	if _, err := l.out.ReadBytes('\n'); err != nil {
		b.Fatal(err)
	}
	return l
}

type bareMessage struct {
	Pulley string          `json:"pulley"`
	ID     string          `json:"id"`
	Action string          `json:"action"`
	Args   json.RawMessage `json:"args"`
	Value  json.RawMessage `json:"value,omitempty"`
}

func (l *bareLoop) write(b *testing.B) {
	l.next++
	line, err := json.Marshal(bareMessage{Pulley: "run", ID: fmt.Sprint(l.next), Action: "noop", Args: json.RawMessage(`{"x":1}`)})
	if err != nil {
		b.Error(err)
	}
	if _, err := l.in.Write(append(line, '\n')); err != nil {
		b.Error(err)
	}
}

func (l *bareLoop) run(b *testing.B, inFlight, n int) {
	for range inFlight {
		l.write(b)
	}
	for i := range n {
		line, err := l.out.ReadBytes('\n')
		var m bareMessage
		if err != nil || json.Unmarshal(line, &m) != nil || m.Pulley != "result" {
			b.Errorf("%q came, %v", line, err)
			return
		}
		if i < n-inFlight {
			l.write(b)
		}
	}
}
