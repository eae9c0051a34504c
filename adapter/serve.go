package adapter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"pulley/adapter/protocol"
	"pulley/internal/lines"
)

const (
	// requestsMost bounds the requests of a kind that are handled at once. While they are, no more are read.
	requestsMost = 64

	// Pulley gives a process 30 s to end after stop: first for requests that are not answered, then for Close, and in all.
	answerWithin = 8 * time.Second
	closeWithin  = 15 * time.Second
	endWithin    = 27 * time.Second

	// unwindWithin bounds what calls may still take when their context has ended.
	unwindWithin = 2 * time.Second
)

// ErrUnusable says that the system cannot work here, such as with these settings or without its database.
var ErrUnusable = errors.New("the system cannot work here")

// errStopped ends what is still at work when a process has to end.
var errStopped = errors.New("pulley has stopped the process")

// Serve speaks with pulley until in ends or brings stop, or until ctx ends, which is as abrupt as a kill: Close then has no time.
// It handles up to 64 submits and 64 looks at once; one submit if the system promises the order of submission.
//
// The error is an ErrUnusable if the system refuses to be set up or opened; pulley has been told, too. Other errors are those of in
// and out, and lines that pulley does not write. If Serve ends before in, a goroutine still reads in: close it.
func Serve(ctx context.Context, in io.Reader, out io.Writer, system System) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := &session{system: system, hello: system.Describe(), env: &Env{}}
	s.out = newWriter(out, cancel)
	s.asking, s.stopAsking = context.WithCancelCause(ctx)
	requests, ended := make(chan protocol.Request), make(chan error, 1)
	go func() {
		ended <- read(ctx, in, requests)
		late := time.AfterFunc(endWithin, func() { cancel(errStopped) }) // such as a Create that does not end
		context.AfterFunc(ctx, func() { late.Stop() })
	}()
	for {
		var err error
		select {
		case r := <-requests:
			if err = s.handle(ctx, r); err == nil {
				continue
			}
		case err = <-ended:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		s.close(ctx)
		return err
	}
}

// session is a conversation with pulley.
type session struct {
	system  System
	hello   protocol.Hello
	out     *writer
	env     *Env
	greeted bool
	running Running // nil before open

	submits, looks chan struct{}   // have a token per request at work
	asking         context.Context // of requests
	stopAsking     context.CancelCauseFunc
	requests       sync.WaitGroup
}

// read reads requests until stop, the end of in, or the end of ctx.
func read(ctx context.Context, in io.Reader, requests chan<- protocol.Request) error {
	reader := lines.NewReader(in, protocol.LineBytes)
	for {
		line, tooLong, err := reader.ReadLine()
		switch {
		case errors.Is(err, io.EOF):
			return nil // the begin of a line does not count
		case err != nil:
			return fmt.Errorf("reading from pulley: %w", err)
		case tooLong:
			return fmt.Errorf("pulley wrote a line of more than %d bytes: %.60q…", protocol.LineBytes, line)
		case len(bytes.TrimSpace(line)) == 0:
			continue
		}
		r, err := protocol.ParseRequest(line)
		if err != nil && (r.Kind == "" || isKnown(r.Kind) || !errors.As(err, new(*json.UnmarshalTypeError))) {
			return fmt.Errorf("pulley wrote a line that cannot be read: %.60q: %w", line, err)
		}
		if r.Kind == protocol.KindStop {
			return nil
		}
		select {
		case requests <- r:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// isKnown reports whether pulley writes messages of a kind. Those of later versions are ignored, whatever fields they have.
func isKnown(k protocol.Kind) bool {
	return slices.Contains([]protocol.Kind{protocol.KindHello, protocol.KindSetup, protocol.KindOpen, protocol.KindSubmit, protocol.KindLook, protocol.KindStop}, k)
}

// handle answers a request, or begins to.
func (s *session) handle(ctx context.Context, r protocol.Request) error {
	isSetUp, isOpen := s.env.Reporter != nil, s.running != nil
	switch {
	case r.Kind == protocol.KindHello && !s.greeted:
		return s.greet(r)
	case r.Kind == protocol.KindSetup && s.greeted && !isSetUp:
		return s.setup(ctx, r)
	case r.Kind == protocol.KindOpen && isSetUp && !isOpen:
		return s.open(ctx, r)
	case r.Kind == protocol.KindSubmit && isOpen:
		return s.begin(s.submits, r, s.submit)
	case r.Kind == protocol.KindLook && isOpen:
		return s.begin(s.looks, r, s.look)
	case isKnown(r.Kind):
		return fmt.Errorf("pulley wrote %s, which does not come here; the order is hello, setup, open, and then submit and look", r.Kind)
	}
	return nil // of a later version
}

func (s *session) greet(r protocol.Request) error {
	if r.Version != protocol.Version {
		return fmt.Errorf("%w: pulley speaks version %d of the adapter protocol, and this adapter version %d", ErrUnusable, r.Version, protocol.Version)
	}
	s.greeted, s.hello.Version = true, protocol.Version
	return s.out.send(protocol.Response{Kind: protocol.KindHello, Hello: &s.hello})
}

func (s *session) setup(ctx context.Context, r protocol.Request) error {
	env, err := environment(&s.hello, r)
	if err != nil {
		return s.refuse(err)
	}
	env.Reporter = &Reporter{out: s.out, workloads: env.Workloads, opened: make(chan struct{}), failures: map[taskKey]int{}}
	s.env = env
	ready := protocol.Response{Kind: protocol.KindReady}
	if c, is := s.system.(Configurer); is {
		promises, err := c.Configure(env)
		if err != nil {
			return s.refuse(err)
		}
		s.hello.Promises, ready.Promises = promises, &promises
	}
	if r.Create {
		if err := s.system.Create(ctx, env); err != nil {
			return s.refuse(err)
		}
	}
	return s.out.send(ready)
}

// environment checks a setup.
func environment(h *protocol.Hello, r protocol.Request) (*Env, error) {
	env := &Env{Settings: map[string]string{}, Workloads: map[string]*protocol.Workload{}}
	if r.Store != nil {
		env.Store = *r.Store
	}
	for _, s := range h.Settings {
		env.Settings[s.Name] = s.Default
	}
	for name, value := range r.Settings {
		if _, known := env.Settings[name]; !known {
			return nil, fmt.Errorf("there is no setting %q", name)
		}
		env.Settings[name] = value
	}
	for _, w := range r.Workloads {
		if err := w.Validate(); err != nil {
			return nil, err
		}
		if missing := w.Missing(h.Shapes); len(missing) > 0 {
			return nil, fmt.Errorf("the workload %s needs %s, which this adapter does not have", &w, missing[0])
		}
		env.Workloads[w.Name] = &w
	}
	return env, nil
}

func (s *session) open(ctx context.Context, r protocol.Request) error {
	if r.Process < 0 || r.Slots < 1 {
		return s.refuse(fmt.Errorf("open has the process %d and %d slots", r.Process, r.Slots))
	}
	s.env.begin(r.Process, r.Report)
	defer close(s.env.opened)
	s.submits, s.looks = make(chan struct{}, requestsMost), make(chan struct{}, requestsMost)
	if s.hello.Promises.Order == protocol.InOrder {
		s.submits = make(chan struct{}, 1)
	}
	running, err := s.system.Open(ctx, s.env, Session{Process: r.Process, Slots: r.Slots})
	if err != nil {
		return s.refuse(err)
	}
	s.running = running
	return s.out.send(protocol.Response{Kind: protocol.KindReady})
}

// refuse tells pulley that the system cannot work, and ends the session.
func (s *session) refuse(err error) error {
	_ = s.out.send(protocol.Response{Kind: protocol.KindError, Message: oneLine(err)}) // standard error has it, too
	return fmt.Errorf("%w: %w", ErrUnusable, err)
}

// begin answers a request in the background, once fewer than the bound are at work.
func (s *session) begin(atWork chan struct{}, r protocol.Request, answer func(context.Context, protocol.Request) (protocol.Response, error)) error {
	select {
	case atWork <- struct{}{}:
	case <-s.asking.Done():
		return context.Cause(s.asking)
	}
	s.requests.Go(func() {
		defer func() { <-atWork }()
		m, err := answer(s.asking, r)
		if err == nil {
			m.Batch = r.Batch
			err = s.out.send(m)
		}
		if err != nil {
			_ = s.out.send(protocol.Response{Kind: protocol.KindError, Batch: r.Batch, Message: oneLine(err)}) // a broken pipe ends the session
		}
	})
	return nil
}

func (s *session) submit(ctx context.Context, r protocol.Request) (protocol.Response, error) {
	for _, i := range r.Instances {
		if s.env.Workloads[i.Workload] == nil {
			return protocol.Response{}, fmt.Errorf("instance %q has the workload %q, which setup did not have", i.ID, i.Workload)
		}
	}
	return protocol.Response{Kind: protocol.KindSubmitted}, s.running.Submit(ctx, r.Instances)
}

func (s *session) look(ctx context.Context, r protocol.Request) (protocol.Response, error) {
	states, err := s.running.Look(ctx, r.IDs)
	found := map[string]protocol.State{}
	for _, state := range states {
		found[state.ID] = state
	}
	m := protocol.Response{Kind: protocol.KindStates}
	for _, id := range r.IDs {
		state, there := found[id]
		if !there {
			state = protocol.State{ID: id, Status: protocol.Unknown}
		}
		m.States = append(m.States, state)
	}
	return m, err
}

// close waits for the requests at work and closes the system. What is late is a problem, and stays behind when the process ends.
func (s *session) close(ctx context.Context) {
	if s.running == nil {
		return
	}
	answered := make(chan struct{})
	go func() {
		s.requests.Wait()
		close(answered)
	}()
	if !within(ctx, answered, answerWithin) {
		s.stopAsking(errStopped)
		within(context.WithoutCancel(ctx), answered, unwindWithin)
	}
	closing, stop := context.WithTimeoutCause(ctx, closeWithin, errStopped)
	defer stop()
	closed := make(chan struct{})
	go func() {
		s.env.Problem(s.running.Close(closing))
		close(closed)
	}()
	if !within(context.WithoutCancel(ctx), closed, closeWithin) && !within(context.WithoutCancel(ctx), closed, unwindWithin) {
		s.env.Problem(fmt.Errorf("the system did not close within %v", closeWithin))
	}
}

// within waits for done, and reports whether it came in time.
func within(ctx context.Context, done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}
