package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

type built struct {
	command  string                // cmd/pulley with the race detector; empty: no package needs it
	binaries map[string]testBinary // by package; packages without tests have none
	toJSON   string                // test2json, which converts a test binary's output to events
}

func (b *built) commandFile(ctx context.Context, p *workdir) (string, error) {
	if b != nil {
		return b.command, nil
	}
	return p.buildCommand(ctx)
}

type testBinary struct {
	file string
	dir  string // of the package, where its tests run
}

func (p *workdir) build(ctx context.Context, packages []string) (*built, error) {
	b := &built{binaries: map[string]testBinary{}, toJSON: filepath.Join(p.dir, "test2json")}
	if err := p.goBuild(ctx, "build", "-o", b.toJSON, "cmd/test2json"); err != nil {
		return nil, err
	}
	with, without := splitSingles(packages)
	if hasCommand(without) {
		var err error
		if b.command, err = p.buildCommand(ctx); err != nil {
			return nil, err
		}
	}
	for _, part := range []struct {
		packages []string
		flags    []string
	}{{with, []string{"-race"}}, {without, nil}} {
		if err := p.buildBinaries(ctx, b, part.packages, part.flags); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func (p *workdir) buildBinaries(ctx context.Context, b *built, packages, flags []string) error {
	if len(packages) == 0 {
		return nil
	}
	all, err := p.describe(ctx, append([]string{"-json=ImportPath,Dir,TestGoFiles,XTestGoFiles"}, packages...)...)
	if err != nil {
		return err
	}
	var group errgroup.Group
	group.SetLimit(processors())
	for _, l := range all {
		if len(l.TestGoFiles)+len(l.XTestGoFiles) == 0 {
			continue
		}
		binary := testBinary{filepath.Join(p.dir, fmt.Sprintf("%d.test", len(b.binaries))), l.Dir}
		b.binaries[l.ImportPath] = binary
		group.Go(func() error {
			args := append([]string{"test", "-c", "-o", binary.file}, flags...)
			return p.goBuild(ctx, append(args, l.ImportPath)...)
		})
	}
	return group.Wait()
}

func (p *workdir) goBuild(ctx context.Context, args ...string) error {
	var said bytes.Buffer
	c := command{args: append([]string{"go"}, args...), out: &said}
	err := p.run(ctx, c)
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%s: %w\n%s", c, err, said.String())
	}
	return err
}

// runBinaries runs compiled tests and writes their events. The error means that they could not run; failures are in the events.
func (p *workdir) runBinaries(ctx context.Context, t tests, out io.Writer) error {
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(t.atOnce)
	for _, name := range t.packages {
		binary, ok := t.built.binaries[name]
		if !ok {
			continue
		}
		group.Go(func() error {
			lines := &lineWriter{mu: &mu, to: out}
			err := p.run(ctx, command{args: append(t.meter.through(t.built.toJSON, "-t", "-p", name, binary.file), t.binaryFlags()...), dir: binary.dir, env: t.env, out: lines})
			if status(err) < 0 {
				return fmt.Errorf("%s: %w", name, err)
			}
			return lines.end(name, err == nil)
		})
	}
	return group.Wait()
}

func (t tests) binaryFlags() []string {
	return []string{"-test.paniconexit0", "-test.v=test2json", "-test.count=1", "-test.timeout=" + t.timeout.String(), "-test.parallel=" + strconv.Itoa(parallelTests())}
}

// lineWriter passes on whole lines, so that several writers do not mix.
type lineWriter struct {
	mu   *sync.Mutex
	to   io.Writer
	rest []byte
	last []byte
}

func (w *lineWriter) Write(text []byte) (int, error) {
	w.rest = append(w.rest, text...)
	end := bytes.LastIndexByte(w.rest, '\n') + 1
	if end == 0 {
		return len(text), nil
	}
	err := w.pass(w.rest[:end])
	w.rest = append(w.rest[:0], w.rest[end:]...)
	return len(text), err
}

// end passes on an incomplete last line, and the failure of a package that panicked, which test2json does not report.
func (w *lineWriter) end(name string, green bool) error {
	if len(w.rest) > 0 {
		if err := w.pass(append(w.rest, '\n')); err != nil {
			return err
		}
	}
	var last testEvent
	_ = json.Unmarshal(w.last, &last) // a line that is no event does not end a package
	if green || last.Package == name && last.Test == "" && last.Action == failed {
		return nil
	}
	line, err := json.Marshal(testEvent{Time: time.Now(), Action: failed, Package: name})
	if err != nil {
		return err
	}
	return w.pass(append(line, '\n'))
}

func (w *lineWriter) pass(lines []byte) error {
	lastBegins := bytes.LastIndexByte(lines[:len(lines)-1], '\n') + 1
	w.last = append(w.last[:0], lines[lastBegins:]...)
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.to.Write(lines)
	return err
}
