package adapters

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"pulley/bench/peers/peer"
	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/backend/designs"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/engine/worker"
)

// Our engine has more slots for no-op tasks than any machine keeps busy, and accepts everything that a commit made ready, since
// it is alone on its store. A second submission is sent while the first is being committed.
const (
	ourSlots      = 64
	ourPrefetch   = 8192
	ourSubmitters = 2
)

func ours(spec designs.Spec) *peer.Adapter {
	return &peer.Adapter{
		Name: spec.String(), Title: "pulley " + spec.String(), Modules: []string{peer.OurModule}, Databases: 1, Submitters: ourSubmitters,
		Options: []peer.Option{
			{Name: "slots", Doc: "tasks at once", Default: peer.Fixed(strconv.Itoa(ourSlots))},
			{Name: "prefetch", Doc: "tasks leased ahead", Default: peer.Fixed(strconv.Itoa(ourPrefetch))},
		},
		Notes: map[string]string{
			"":       "a program of the workflow language; every task's result is stored, by a commit that other tasks' share",
			"fanout": "a spread and an action that is given the list of all results",
		},
		Setup: func(ctx context.Context, env peer.Env) error {
			b, err := spec.Open(ctx, designs.OpenOptions{DSN: env.DSNs[0]})
			if err != nil {
				return err
			}
			b.Close()
			return nil
		},
		Open: func(ctx context.Context, env peer.Env, work *peer.Work) (peer.System, error) {
			return openPulley(ctx, spec, env, work)
		},
	}
}

type pulley struct {
	backend backend.Backend
	engine  *engine.Engine
	program *plan.Program
	work    *peer.Work

	mu      sync.Mutex
	numbers map[uuid.UUID]int // of open instances
}

func openPulley(ctx context.Context, spec designs.Spec, env peer.Env, work *peer.Work) (peer.System, error) {
	program, err := compile(work.Workload)
	if err != nil {
		return nil, err
	}
	actions, err := actions(work)
	if err != nil {
		return nil, err
	}
	p := &pulley{program: program, work: work, numbers: map[uuid.UUID]int{}}
	if p.backend, err = spec.Open(ctx, designs.OpenOptions{DSN: env.DSNs[0]}); err != nil {
		return nil, err
	}
	p.engine, err = engine.New(engine.Config{
		Backend: p.backend, Workers: actions, CheckActions: true,
		Slots: env.Options.Int("slots"), Prefetch: env.Options.Int("prefetch"), Batch: spec.Batch(),
		Observer: engine.Observer{Ended: p.ended, Problem: func(err error) { env.Log(err.Error()) }},
	})
	if err == nil {
		err = p.engine.Start(ctx)
	}
	if err != nil {
		p.backend.Close()
		return nil, err
	}
	return p, nil
}

func compile(w peer.Workload) (*plan.Program, error) {
	var b strings.Builder
	b.WriteString("fn main(input: [p], output: [p]):\n")
	const step = "p = @task.step(p=p)\n"
	switch w.Shape {
	case peer.Fanout:
		b.WriteString("    " + step)
		fmt.Fprintf(&b, "    values = spread range(%d):i -> @task.member(p=p, i=i)\n", w.Width)
		b.WriteString("    p = @task.join(p=p, values=values)\n")
	case peer.Loop:
		fmt.Fprintf(&b, "    for i in range(%d):\n%s", w.Rounds, strings.Repeat("        "+step, w.Steps))
	default:
		b.WriteString(strings.Repeat("    "+step, w.Steps))
	}
	b.WriteString("    return p\n")
	return plan.CompileText(w.Name+".ir", []byte(b.String()), ir.Limits{})
}

func actions(work *peer.Work) (*worker.Registry, error) {
	return worker.NewRegistry(
		worker.Action{Name: "task.step", Args: []string{"p"}, Run: func(_ context.Context, call worker.Call) (any, error) {
			var args struct {
				P string `json:"p"`
			}
			if err := call.Bind(&args); err != nil {
				return nil, err
			}
			return work.Step(args.P)
		}},
		worker.Action{Name: "task.member", Args: []string{"p", "i"}, Run: func(_ context.Context, call worker.Call) (any, error) {
			var args struct {
				P string `json:"p"`
				I int    `json:"i"`
			}
			if err := call.Bind(&args); err != nil {
				return nil, err
			}
			return work.Member(args.P, args.I)
		}},
		worker.Action{Name: "task.join", Args: []string{"p", "values"}, Run: func(_ context.Context, call worker.Call) (any, error) {
			var args struct {
				P      string  `json:"p"`
				Values []int64 `json:"values"`
			}
			if err := call.Bind(&args); err != nil {
				return nil, err
			}
			sum := int64(0)
			for _, v := range args.Values {
				sum += v
			}
			return work.Join(args.P, sum)
		}},
	)
}

func (p *pulley) Submit(ctx context.Context, first, count int) error {
	reqs := make([]engine.SubmitRequest, count)
	p.mu.Lock()
	for i := range reqs {
		id := uuid.Must(uuid.NewV7())
		p.numbers[id] = first + i
		reqs[i] = engine.SubmitRequest{ID: id, Program: p.program, Input: fmt.Appendf(nil, `{"p":%q}`, peer.Payload(first+i))}
	}
	p.mu.Unlock()
	_, err := p.engine.SubmitAll(ctx, reqs)
	return err
}

func (p *pulley) ended(in backend.Instance, _ time.Time) {
	p.mu.Lock()
	number, mine := p.numbers[in.ID]
	delete(p.numbers, in.ID)
	p.mu.Unlock()
	switch {
	case !mine:
	case in.Status != backend.Completed:
		p.work.Ended(number, "", fmt.Errorf("it %s: %s", in.Status, in.Failure))
	default:
		result, err := plain(in.Result)
		p.work.Ended(number, result, err)
	}
}

// plain returns a result without JSON quotes.
func plain(result json.RawMessage) (string, error) {
	if len(result) == 0 || result[0] != '"' {
		return string(result), nil
	}
	var text string
	err := json.Unmarshal(result, &text)
	return text, err
}

func (p *pulley) Close(ctx context.Context) error {
	err := p.engine.Stop(ctx)
	p.backend.Close()
	if errors.Is(err, engine.ErrNotRunning) {
		return nil
	}
	return err
}
