package hosts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"

	"pulley/engine/pgserver"
	"pulley/internal/pause"
)

const (
	startTick  = 2 * time.Millisecond // interval of checks whether a process has begun
	endTick    = 5 * time.Millisecond // or has ended
	endTimeout = 2 * time.Minute      // bounds how long Docker may take to report the end

	stderrTimeout = 10 * time.Second // bounds the wait for an ended process's last output
	stderrGrace   = time.Second      // the same, if it ended with its container
)

// redirect connects a process's standard output and input to pipes. In this order, an open input implies an open output.
const redirect = `exec "$@" >"$0.out" <"$0.in"`

// Process is a process in a host.
type Process struct {
	Stdin  io.WriteCloser // the caller closes it
	Stdout io.Reader      // ends with the process

	docker       *pgserver.Docker
	host         string
	exec         string
	system       *os.Process
	stdout       *os.File
	stream       client.HijackedResponse
	stderrClosed chan struct{} // closed when its standard error has ended
}

// Start runs a command in the host, with additional environment. said receives its standard error until Wait returns. The caller
// calls Wait after Stdout has ended.
func (h *Host) Start(ctx context.Context, command, environment []string, said io.Writer) (*Process, error) {
	p := &Process{docker: h.hosts.docker, host: h.container(), stderrClosed: make(chan struct{})}
	name := fmt.Sprintf("%.12s-%d", p.host, h.started.Add(1))
	path := filepath.Join(h.hosts.folder.path, name)
	defer func() { // both ends have them open by then
		_ = os.Remove(path + ".in")
		_ = os.Remove(path + ".out")
	}()
	for _, end := range []string{".in", ".out"} {
		if err := syscall.Mkfifo(path+end, 0o600); err != nil {
			return nil, fmt.Errorf("making a pipe: %w", err)
		}
	}
	var err error
	if p.stdout, err = os.OpenFile(path+".out", os.O_RDONLY|syscall.O_NONBLOCK, 0); err != nil {
		return nil, fmt.Errorf("opening a pipe: %w", err)
	}
	p.Stdout = p.stdout
	if err := p.run(ctx, filepath.Join(pipes, name), command, environment, said); err != nil {
		_ = p.stdout.Close()
		return nil, err
	}
	if err := p.begin(ctx, path+".in"); err != nil {
		p.kill()
		return nil, errors.Join(err, p.Wait())
	}
	return p, nil
}

func (p *Process) run(ctx context.Context, pipe string, command, environment []string, said io.Writer) error {
	created, err := p.docker.ExecCreate(ctx, p.host, client.ExecCreateOptions{
		AttachStdout: true, AttachStderr: true, Env: environment,
		Cmd: append([]string{"/bin/sh", "-c", redirect, pipe}, command...),
	})
	if err != nil {
		return fmt.Errorf("starting a process in the host %.12s: %w", p.host, err)
	}
	p.exec = created.ID
	attached, err := p.docker.ExecAttach(ctx, p.exec, client.ExecAttachOptions{})
	if err != nil {
		return fmt.Errorf("starting a process in the host %.12s: %w", p.host, err)
	}
	p.stream = attached.HijackedResponse
	go func() { // it ends with the stream, which Wait closes
		defer close(p.stderrClosed)
		_, _ = stdcopy.StdCopy(said, said, p.stream.Reader)
	}()
	return nil
}

// begin waits until the process has opened its pipes and Docker reports its number. The process then waits for input.
func (p *Process) begin(ctx context.Context, input string) error {
	tick := time.NewTicker(startTick)
	defer tick.Stop()
	for {
		switch begun, err := p.begun(ctx, input); {
		case err != nil:
			return err
		case begun:
			return nil
		}
		select {
		case <-p.stderrClosed:
			return errors.New("the process ended before it began")
		case <-ctx.Done():
			return fmt.Errorf("the process did not begin: %w", context.Cause(ctx))
		case <-tick.C:
		}
	}
}

func (p *Process) begun(ctx context.Context, input string) (bool, error) {
	if p.Stdin == nil {
		stdin, err := os.OpenFile(input, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if errors.Is(err, syscall.ENXIO) { // not open for reading yet
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("opening a pipe: %w", err)
		}
		p.Stdin = stdin
	}
	found, err := p.docker.ExecInspect(ctx, p.exec, client.ExecInspectOptions{})
	if err != nil {
		return false, fmt.Errorf("the process of the host %.12s: %w", p.host, err)
	}
	return found.PID != 0, p.identify(found)
}

func (p *Process) identify(found client.ExecInspectResult) error {
	if found.PID == 0 {
		return nil
	}
	// Signals go to the number that Docker reports. If Docker runs in a virtual machine, another process may have that number
	// here.
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", found.PID))
	if err == nil && !strings.Contains(string(text), p.host) {
		err = errors.New("it is another's")
	}
	if err != nil {
		return fmt.Errorf("the process %d of the host %.12s is not to be seen from here; run where the Docker engine runs: %w", found.PID, p.host, err)
	}
	p.system, err = os.FindProcess(found.PID)
	return err
}

// PID returns the process's number outside its container.
func (p *Process) PID() int { return p.system.Pid }

// Signal sends it a signal.
func (p *Process) Signal(s os.Signal) error { return p.system.Signal(s) }

func (p *Process) kill() {
	if p.system != nil {
		_ = p.system.Kill() // it may have ended
	}
	if p.Stdin != nil {
		_ = p.Stdin.Close()
	}
}

// Wait returns how the process ended; nil: with status 0. It is called once.
func (p *Process) Wait() error {
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	err, within := p.status(ctx), stderrTimeout
	if errors.Is(err, errContainerEnded) { // Docker may keep it open
		within = stderrGrace
	}
	hearing := time.NewTimer(within)
	defer hearing.Stop()
	select {
	case <-p.stderrClosed:
	case <-hearing.C:
	}
	p.stream.Close()
	<-p.stderrClosed
	if p.system != nil {
		_ = p.system.Release()
	}
	return errors.Join(err, p.stdout.Close())
}

// errContainerEnded says that nothing more can be learned about a process.
var errContainerEnded = errors.New("it ended with its container")

func (p *Process) status(ctx context.Context) error {
	for range pause.Tries(ctx, endTick) {
		found, err := p.docker.ExecInspect(ctx, p.exec, client.ExecInspectOptions{})
		switch {
		case errdefs.IsNotFound(err) || errdefs.IsConflict(err):
			return errContainerEnded
		case err != nil:
			return fmt.Errorf("how it ended is not known: %w", err)
		case !found.Running && found.ExitCode != 0:
			return fmt.Errorf("exit status %d", found.ExitCode)
		case !found.Running && found.PID != 0:
			return nil
		}
	}
	return fmt.Errorf("how it ended is not known: %w", context.Cause(ctx))
}
