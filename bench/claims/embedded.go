package claims

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/google/uuid"

	"pulley/bench/claim"
	"pulley/engine/backend/postgres"
)

const (
	embeddedPackage  = "pulley/examples/embedded"
	processesPackage = "pulley/examples/processes"
)

type embedder struct {
	dsn    string
	folder string
}

// newEmbedder builds a program. It needs the Go tool and must run in pulley's source tree. The caller calls remove.
func newEmbedder(ctx context.Context, dsn, of string) (*embedder, error) {
	folder, err := os.MkdirTemp("", "pulley-embedded-")
	if err != nil {
		return nil, err
	}
	e := &embedder{dsn, folder}
	build := exec.CommandContext(ctx, "go", "build", "-o", e.program(), of)
	if out, err := build.CombinedOutput(); err != nil {
		e.remove()
		return nil, fmt.Errorf("building %s needs the Go tool and pulley's source as the working directory: %w: %s", of, err, bytes.TrimSpace(out))
	}
	return e, nil
}

func (e *embedder) program() string { return filepath.Join(e.folder, "embedded") }

func (e *embedder) remove() { _ = os.RemoveAll(e.folder) }

func (e *embedder) run(ctx context.Context, report any, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	schema := "pulley_claims_" + uuid.NewString()[:8]
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		_ = postgres.DropSchema(ctx, e.dsn, schema)
	}()
	cmd := exec.CommandContext(ctx, e.program(), append([]string{"--schema", schema}, args...)...)
	cmd.Env = append(os.Environ(), "PULLEY_DSN="+e.dsn)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(problems.Bytes()))
	}
	return json.Unmarshal(out, report)
}

var errNoMemory = errors.New("this system does not tell how much memory a process held")

// peak runs the program with so many concurrent tasks and returns its peak resident memory in MiB.
func (e *embedder) peak(ctx context.Context, tasks int) (float64, error) {
	var got struct {
		Completed int   `json:"completed"`
		PeakBytes int64 `json:"peak_rss_bytes"`
	}
	switch err := e.run(ctx, &got, "--tasks", strconv.Itoa(tasks)); {
	case err != nil:
		return 0, err
	case got.Completed != tasks:
		return 0, fmt.Errorf("%d instances completed, not %d", got.Completed, tasks)
	case got.PeakBytes == 0:
		return 0, errNoMemory
	}
	return float64(got.PeakBytes) / mebi, nil
}

func goalTasks(ctx context.Context, l *lab) ([]claim.Claim, error) {
	const tasks = 500
	c := claim.Claim{
		ID: "tasks", Source: sourceGoals, Text: "500 concurrent tasks take at most 25 MB of resident memory of a program that embeds the engine.",
		Method: fmt.Sprintf("%s, built with the Go tool: a program of its own that embeds the engine and push, and nothing else of pulley; %d instances, whose tasks all wait until all are "+
			"at work; its whole resident memory, code included, at its peak, as the kernel counts it. The same with one task is given, too.", embeddedPackage, tasks),
	}
	many := claim.Figure{Name: push + ", the whole process with 500 tasks", Unit: "MiB", Bound: claim.AtMost, Claimed: 25e6 / mebi}
	single := claim.Figure{Name: push + ", the whole process with 1 task", Unit: "MiB"}
	e, err := newEmbedder(ctx, l.cfg.DSN, embeddedPackage)
	if err != nil {
		c.Figures = []claim.Figure{many.Missing(err.Error())}
		return []claim.Claim{c}, nil
	}
	defer e.remove()
	var peaks, least []float64
	for run := range l.runs {
		for count, list := range map[int]*[]float64{tasks: &peaks, 1: &least} {
			v, err := e.peak(ctx, count)
			if err != nil {
				return nil, fmt.Errorf("%s with %d tasks: %w", embeddedPackage, count, err)
			}
			*list = append(*list, v)
		}
		l.printf("run %d of %d: %.1f MiB with %d tasks, %.1f MiB with one", run+1, l.runs, peaks[run], tasks, least[run])
	}
	c.Figures = []claim.Figure{many.Measure(peaks), single.Measure(least)}
	return []claim.Claim{c}, nil
}
