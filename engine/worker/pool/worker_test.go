package pool_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// workerVariable, a workerPlan, makes the test's program a worker.
const workerVariable = "PULLEY_TEST_WORKER"

func TestMain(m *testing.M) {
	if text := os.Getenv(workerVariable); text != "" {
		beWorker(text)
		return
	}
	if os.Getenv(engineVariable) != "" {
		if err := beEngine(); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

type workerPlan struct {
	Slots     int
	Beat      int // milliseconds; 0: none
	First     string
	Hello     string // replaces its own
	Crash     string // file: while it exists, the worker exits at once with status 3
	Status    int    // the worker exits with it at once
	Ignores   string // kinds of messages
	ByesAfter int    // the worker says bye after that many attempts
	Serial    bool
	Mute      bool // no heartbeats, although it promises them
}

func (p workerPlan) text() string {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	return string(text)
}

type runMessage struct {
	Pulley, ID, Action, Key, Instance, Node, Path string
	Attempt, Delivery                             int
	TimeoutMS                                     int64 `json:"timeout_ms"`
	Args                                          json.RawMessage
}

type testWorker struct {
	plan    workerPlan
	mu      sync.Mutex // of out
	out     *bufio.Writer
	running sync.Map // id → chan struct{}, closed by cancel
	all     sync.WaitGroup
}

func beWorker(text string) {
	w := &testWorker{out: bufio.NewWriter(os.Stdout)}
	if err := json.Unmarshal([]byte(text), &w.plan); err != nil {
		panic(err)
	}
	if w.plan.Crash != "" {
		if _, err := os.Stat(w.plan.Crash); err == nil {
			fmt.Fprintln(os.Stderr, "no license")
			os.Exit(3)
		}
	}
	if w.plan.Status != 0 {
		fmt.Fprintln(os.Stderr, "flow.py:7: it is wrong")
		os.Exit(w.plan.Status)
	}
	w.write(w.plan.First)
	w.hello()
	if w.plan.Beat > 0 && !w.plan.Mute {
		go func() {
			for range time.Tick(time.Duration(w.plan.Beat) * time.Millisecond) {
				w.write(`{"pulley":"heartbeat"}` + "\n")
			}
		}()
	}
	w.serve()
	w.all.Wait()
}

func (w *testWorker) hello() {
	if w.plan.Hello != "" {
		w.write(w.plan.Hello + "\n")
		return
	}
	var actions []string
	for _, name := range strings.Fields("echo told pid decline hang ignore huge flood nothing invalid garbage half die freeze orphan orphan_hang nap noop") {
		actions = append(actions, `{"name":"`+name+`"}`)
	}
	actions = append(actions, `{"name":"exact","args":["a","b"],"doc":"says hi"}`, `{"name":"some","args":["a","b"],"required":["a"]}`)
	w.write(fmt.Sprintf(`{"pulley":"hello","version":1,"name":"test","slots":%d,"heartbeat_ms":%d,"actions":[%s]}`+"\n",
		max(w.plan.Slots, 1), w.plan.Beat, strings.Join(actions, ",")))
}

func (w *testWorker) write(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _ = w.out.WriteString(text)
	_ = w.out.Flush()
}

func (w *testWorker) serve() {
	in := bufio.NewReaderSize(os.Stdin, 64<<10)
	for n := 0; ; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m runMessage
		if err := json.Unmarshal(line, &m); err != nil {
			panic(err)
		}
		if strings.Contains(w.plan.Ignores, m.Pulley) {
			continue
		}
		switch m.Pulley {
		case "run":
			cancelled := make(chan struct{})
			w.running.Store(m.ID, cancelled)
			if w.plan.Serial {
				w.act(m, cancelled)
			} else {
				w.all.Go(func() { w.act(m, cancelled) })
			}
			if n++; n == w.plan.ByesAfter {
				w.write(`{"pulley":"bye"}` + "\n")
			}
		case "cancel":
			if cancelled, ok := w.running.LoadAndDelete(m.ID); ok {
				close(cancelled.(chan struct{}))
			}
		case "bye":
			return
		}
	}
}

func (w *testWorker) result(m runMessage, value string) {
	w.running.Delete(m.ID)
	w.write(`{"pulley":"result","id":"` + m.ID + `","value":` + value + "}\n")
}

func (w *testWorker) fail(m runMessage, typ, message string) {
	w.running.Delete(m.ID)
	text, _ := json.Marshal(message)
	w.write(`{"pulley":"error","id":"` + m.ID + `","type":"` + typ + `","message":` + string(text) + "}\n")
}

func (w *testWorker) act(m runMessage, cancelled chan struct{}) {
	switch m.Action {
	case "echo", "exact", "some":
		w.result(m, string(m.Args))
	case "noop":
		w.result(m, "null")
	case "told":
		m.ID = ""
		text, _ := json.Marshal(m)
		var again struct{ ID string }
		_ = json.Unmarshal(text, &again)
		told, _ := json.Marshal([]any{m.Action, m.Key, m.Node, m.Path, m.Attempt, m.Delivery, m.TimeoutMS > 0})
		w.write(`{"pulley":"result","id":"` + lastID(&w.running) + `","value":` + string(told) + "}\n")
	case "pid":
		w.result(m, strconv.Itoa(os.Getpid()))
	case "decline":
		w.fail(m, "Declined", `no "money" is left for ü`)
	case "hang":
		<-cancelled
		w.fail(m, "Cancelled", "")
	case "nap":
		var args struct{ MS int }
		_ = json.Unmarshal(m.Args, &args)
		select {
		case <-cancelled:
			w.fail(m, "Cancelled", "")
		case <-time.After(time.Duration(args.MS) * time.Millisecond):
			w.result(m, strconv.Itoa(os.Getpid()))
		}
	default:
		w.misbehave(m)
	}
}

func lastID(running *sync.Map) (id string) {
	running.Range(func(key, _ any) bool { id = key.(string); return false })
	running.Delete(id)
	return id
}

func (w *testWorker) misbehave(m runMessage) {
	begin := `{"pulley":"result","id":"` + m.ID + `","value":"`
	switch m.Action {
	case "huge":
		w.result(m, `"`+strings.Repeat("x", 8<<20)+`"`)
	case "flood":
		w.mu.Lock()
		_, _ = w.out.WriteString(begin)
		for {
			if _, err := w.out.WriteString(strings.Repeat("x", 1<<16)); err != nil {
				os.Exit(1)
			}
		}
	case "nothing":
		w.write(`{"pulley":"result","id":"` + m.ID + `"}` + "\n")
	case "invalid":
		w.write(begin + "\xff\"}\n")
	case "garbage":
		w.write("hello, I am no result\nneither am I")
		w.result(m, "true")
	case "half":
		w.write(begin + "half")
		os.Exit(0)
	case "die":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "freeze":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		select {} // the signal may take a moment to stop all threads
	case "ignore":
		select {}
	case "orphan", "orphan_hang":
		var args struct{ Token string }
		_ = json.Unmarshal(m.Args, &args)
		cmd := exec.Command("/bin/sh", "-c", "sleep 600; : "+args.Token)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		if m.Action == "orphan" {
			w.result(m, "true")
		}
	}
}
