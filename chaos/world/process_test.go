package world

import (
	"context"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"pulley/chaos/fault"
	"pulley/chaos/process"
	"pulley/engine/oracle"
)

// toldProcess is a process that lives until it is killed and sends its first message once it has received something.
type toldProcess struct {
	first  func()
	output *io.PipeWriter
	input  *io.PipeReader
	killed sync.Once
	lines  []string
}

func (*toldProcess) PID() int    { return 0 }
func (*toldProcess) Wait() error { return nil }
func (p *toldProcess) Signal(os.Signal) error {
	p.killed.Do(func() { _ = p.output.Close() })
	return nil
}
func (p *toldProcess) Close() error { return p.input.Close() }
func (p *toldProcess) Write(b []byte) (int, error) {
	if p.lines = append(p.lines, string(b)); len(p.lines) == 1 {
		p.first()
	}
	return len(b), nil
}

// newToldProcess makes one and returns its output.
func newToldProcess(first func()) (*toldProcess, io.Reader) {
	p := &toldProcess{first: first}
	var out *io.PipeReader
	out, p.output = io.Pipe()
	p.input, _ = io.Pipe()
	return p, out
}

// TestAProcessIsKilledAtItsFirstMessage kills an engine at the first message of its start, as early as possible. It checks that
// the new process is killed, not the previous one, which has ended.
func TestAProcessIsKilledAtItsFirstMessage(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	wire, err := fault.NewWire(listener, "postgres://nobody@127.0.0.1:1/none", fault.NewLedger(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var killed []string
	h := &engineHost{wire: wire, lost: func(int, string) {}, onLine: func(int, string, []byte) process.Word { return "" }, admin: func(context.Context) (*pgx.Conn, error) { return nil, io.EOF },
		record: func(events ...oracle.Event) {
			for _, e := range events {
				if e.Kind == oracle.Killed {
					killed = append(killed, e.Process)
				}
			}
		}}
	h.background, h.endBackground = context.WithCancel(t.Context())
	defer h.close()
	h.launch = func(context.Context, io.Writer) (process.Execution, io.WriteCloser, io.Reader, error) {
		p, out := newToldProcess(func() {
			if err := h.Signal(syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		})
		return p, p, out, nil
	}
	for _, want := range []string{"engine 0.1", "engine 0.2"} {
		if err := h.Start(t.Context()); err == nil {
			t.Error("an engine that was killed at its first message has started")
		}
		if last := killed[len(killed)-1]; last != want {
			t.Errorf("the process %q was killed, want %q", last, want)
		}
	}
}

// TestASetupComesFirst sends to a process as soon as it exists. It checks that the process receives its setup first.
func TestASetupComesFirst(t *testing.T) {
	told, out := newToldProcess(func() {})
	launch := func(context.Context, io.Writer) (process.Execution, io.WriteCloser, io.Reader, error) {
		return told, told, out, nil
	}
	telling := make(chan error, 1)
	p, err := process.Start(t.Context(), launch, process.Setup{Source: "engine 0.1"}, func(*process.Process, []byte) {}, func(p *process.Process) {
		go func() { telling <- p.Send(process.Order{}) }()
		for range 1000 {
			runtime.Gosched() // gives it every opportunity to be first
		}
	})
	if err == nil {
		err = <-telling
	}
	if err != nil || len(told.lines) != 2 || !strings.Contains(told.lines[0], "engine 0.1") {
		t.Errorf("the process was told %q, %v; want its setup first", told.lines, err)
	}
	_ = told.Signal(syscall.SIGKILL)
	<-p.Exited()
}
