package fault

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/engine/pgserver"
	"pulley/internal/nearest"
	"pulley/internal/pause"
)

// Fault is a planned disturbance.
type Fault struct {
	Kind   string `json:"kind"`
	When   When   `json:"when,omitzero"`
	Engine int    `json:"engine"` // its target, from 0; a fault of the server hits all

	HoldMS int  `json:"hold_ms,omitempty"`
	K      int  `json:"k,omitempty"`      // number of the message, commit or statement edge, from 1; for a delay, a slow worker or a clock's jump: ms
	Server bool `json:"server,omitempty"` // counts the server's messages, not the client's
	Late   bool `json:"late,omitempty"`   // the message arrives, but nothing after it
	Bytes  int  `json:"bytes,omitempty"`  // size of a piece
}

// When is when a fault begins, counted from the end of the previous fault. Both conditions must hold.
type When struct {
	AfterMS int    `json:"after_ms,omitempty"`
	Event   string `json:"event,omitempty"` // a kind of event of a history, such as "answered"; empty: none
	N       int    `json:"n,omitempty"`     // so many of them after AfterMS, from 1
}

// String describes the fault for people.
func (f Fault) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s engine=%d", f.Kind, f.Engine)
	for name, n := range map[string]int{"hold_ms": f.HoldMS, "k": f.K, "bytes": f.Bytes} {
		if n != 0 {
			fmt.Fprintf(&b, " %s=%d", name, n)
		}
	}
	return b.String()
}

// Hold is HoldMS as a duration.
func (f Fault) Hold() time.Duration { return time.Duration(f.HoldMS) * time.Millisecond }

// Timing is what faults' durations are drawn from.
type Timing struct {
	Lease time.Duration // of tasks, and of shards that have owners
	Call  time.Duration // timeout of a store call
}

// Kind is a kind of fault.
type Kind struct {
	Name string // GROUP.WHAT
	Doc  string // one line

	// Lacks says in a few words why a world cannot have it; "": it can. Nil: every world can.
	Lacks func(World) string

	// Cooperates says that the engine's process must follow an Order.
	Cooperates bool

	// States are SQLSTATEs. It has not happened until an error with one of them has reached an engine. Nil: it need not fail a
	// statement.
	States []string

	// Unvisited lists the messages of the baseline that an exhaustive kind has not visited. Nil: it is not exhaustive.
	Unvisited func(*Places) []string

	// Nth says that K counts how many of something pass before it happens, so that a smaller K means earlier.
	Nth bool

	// Draw fills in the kind's parameters. Nil: it has none.
	Draw func(r *rand.Rand, t Timing, f *Fault)

	// Inject applies the fault; see the package's protocol. It calls over once for each time that it happened.
	Inject func(ctx context.Context, w World, f Fault, over func()) error
}

// Group returns the first half of the name.
func (k Kind) Group() string {
	group, _, _ := strings.Cut(k.Name, ".")
	return group
}

// ErrMissed is wrapped by the error of a fault that did not happen.
var ErrMissed = errors.New("the fault did not happen")

// World is what faults hit.
type World interface {
	Engines() int
	Engine(i int) Engine
	Wire(i int) *Wire
	Server() Server                               // nil: it cannot be stopped
	Standby() (Standby, error)                    // of the server; an error says why it can have none
	Container() (Container, error)                // the server's; an error says why it is in none
	Host(i int) (Container, error)                // an engine's; an error says why engines are in none
	Disk() (Disk, error)                          // the server's; an error says why it has none of its own
	HasWorkers() bool                             // engines run actions in processes
	Scope() Scope                                 // what belongs to the engines
	Failed() map[string]int                       // errors that have reached engines, by SQLSTATE
	Admin(ctx context.Context) (*pgx.Conn, error) // a superuser's connection past all wires; the caller closes it
}

// Engine is an engine's process.
type Engine interface {
	// Signal sends a signal to the process.
	Signal(s syscall.Signal) error

	// Exited is closed when the current process has ended. Each new process has its own channel.
	Exited() <-chan struct{}

	// Stop stops the engine in an orderly way and ends its process.
	Stop(ctx context.Context) error

	// Start starts a new process after the last one has ended. It returns when the engine works.
	Start(ctx context.Context) error

	// Order tells the process to misbehave.
	Order(o Order) error

	// OrdersDone returns how often the process has reported that it did.
	OrdersDone() int
}

// Server is a server that can be stopped, such as *pgserver.Server.
type Server interface {
	Stop(ctx context.Context, mode pgserver.StopMode) error
	Start(ctx context.Context) error
}

// Standby is a server that can have a standby, such as *pgserver.Server.
type Standby interface {
	AddStandby(ctx context.Context) error // adds a standby that every commit waits for
	RemoveStandby(ctx context.Context) error
	Promote(ctx context.Context) error // kills the server; its standby replaces it
}

// Container is the container of the server or of an engine.
type Container interface {
	Pause(ctx context.Context) error
	Unpause(ctx context.Context) error
	Restart(ctx context.Context) error // kills and starts it; its server answers then, but an engine in it is not started
	Disconnect(ctx context.Context) error
	Connect(ctx context.Context) error // connects it again; its server answers then
}

// Disk is a small disk with nothing but a server's data.
type Disk interface {
	Fill() error // no byte is left
	Free() error // removes what filled it
}

// Order tells a process what to do. One field is set.
type Order struct {
	SlowMS     int  `json:"slow_ms,omitempty"` // every action takes so much longer, until the next order
	Die        int  `json:"die,omitempty"`     // it kills itself at this statement edge, from 1
	JumpMS     int  `json:"jump_ms,omitempty"` // its clock is ahead by so much, or behind, until the next order
	KillWorker bool `json:"kill_worker,omitempty"`
	Repeat     int  `json:"repeat,omitempty"` // in so many percent of calls, completions are reordered and repeated, until the next order
}

// Kinds lists all kinds, by group.
func Kinds() []Kind {
	return []Kind{
		wireCut, wireReset, wireStall, wireDelay, wireSlice, wireDrop, wireSwallow, wireCommit, wireCommits, wireEvery,
		processKill, processEvery, processStart, processEdge, processPause, processClock, processStop, processSlow, processRepeat,
		postgresTerminate, postgresCancel, postgresLocks, postgresTimeout, postgresDeadlocks, postgresSerializable, postgresConnections,
		postgresRestart, postgresImmediate, postgresKill, postgresPromote, postgresDisk,
		containerPause, containerKill, containerDisconnect,
		hostPause, hostKill, hostDisconnect,
		workerKill,
	}
}

// Find returns the kind of a name.
func Find(name string) (Kind, error) {
	kinds := Kinds()
	if i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == name }); i >= 0 {
		return kinds[i], nil
	}
	return Kind{}, &nearest.Unknown{Kind: "fault", Name: name, Known: Names(kinds)}
}

// Names lists the names of kinds.
func Names(kinds []Kind) []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.Name
	}
	return names
}

// Exhaustive reports whether the kind visits one message after another until it was at all.
func (k Kind) Exhaustive() bool { return k.Unvisited != nil }

// Select returns the kinds that words name: all, none, a kind or a group. Exhaustive kinds must be named singly.
func Select(words []string) ([]Kind, error) {
	var out []Kind
	known := append(Names(Kinds()), "all", "none")
	for _, k := range Kinds() {
		known = append(known, k.Group())
		if slices.ContainsFunc(words, func(w string) bool { return w == k.Name || !k.Exhaustive() && (w == "all" || w == k.Group()) }) {
			out = append(out, k)
		}
	}
	for _, w := range words {
		switch {
		case w == "none" && len(words) == 1:
			return nil, nil
		case w == "none" || !slices.Contains(known, w):
			return nil, &nearest.Unknown{Kind: "fault", Name: w, Known: known}
		}
	}
	return out, nil
}

// Every lists the exhaustive kinds.
func Every() []Kind {
	return slices.DeleteFunc(Kinds(), func(k Kind) bool { return !k.Exhaustive() })
}

// Draw makes a plan of n faults from a seed: each kind equally often, in random order. Without kinds it is empty.
func Draw(seed uint64, kinds []Kind, n, engines int, t Timing) []Fault {
	r := rand.New(rand.NewPCG(seed, 0xfa017))
	var plan []Fault
	for len(plan) < n && len(kinds) > 0 {
		for _, i := range r.Perm(len(kinds)) {
			if len(plan) == n {
				break
			}
			plan = append(plan, kinds[i].draw(r, engines, t))
		}
	}
	return plan
}

const longestOf = 32

// Longest makes a plan of one fault of each kind from a seed, in random order. Each lasts nearly as long as any from Draw.
func Longest(seed uint64, kinds []Kind, engines int, t Timing) []Fault {
	r := rand.New(rand.NewPCG(seed, 0x10f6))
	plan := make([]Fault, 0, len(kinds))
	for _, i := range r.Perm(len(kinds)) {
		longest := kinds[i].draw(r, engines, t)
		for range longestOf - 1 {
			if f := kinds[i].draw(r, engines, t); f.HoldMS > longest.HoldMS {
				longest = f
			}
		}
		plan = append(plan, longest)
	}
	return plan
}

func (k Kind) draw(r *rand.Rand, engines int, t Timing) Fault {
	f := Fault{Kind: k.Name, Engine: r.IntN(engines), When: When{AfterMS: r.IntN(300)}}
	if r.IntN(2) == 0 { // in the middle of work, wherever that is
		f.When.Event = []string{"leased", "started", "offered", "answered"}[r.IntN(4)]
		f.When.N = 1 + r.IntN(40)
	}
	if k.Draw != nil {
		k.Draw(r, t, &f)
	}
	return f
}

func upToLease(r *rand.Rand, t Timing, f *Fault) { f.HoldMS = between(r, t.Lease/4, t.Lease) }

func between(r *rand.Rand, least, most time.Duration) int {
	return int((least + time.Duration(r.Int64N(int64(most-least)+1))).Milliseconds())
}

// until lets a fault last for its duration, and then until a new error with one of the states has reached an engine, for at most
// armedFor. before is an earlier result of World.Failed. concurrently, if not nil, is called repeatedly.
func until(ctx context.Context, w World, f Fault, states []string, before map[string]int, concurrently func() error) error {
	kind := Kind{States: states}
	for end := time.Now().Add(f.Hold()); time.Now().Before(end) || !kind.HasHappened(before, w.Failed()); {
		if time.Now().After(end.Add(armedFor)) {
			return fmt.Errorf("%w: no statement failed with %s", ErrMissed, strings.Join(states, " or "))
		}
		if concurrently != nil {
			if err := concurrently(); err != nil {
				return err
			}
		}
		if err := pause.For(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// HasHappened reports whether one of the kind's states occurred between two results of World.Failed; true if it has none.
func (k Kind) HasHappened(before, after map[string]int) bool {
	return len(k.States) == 0 || slices.ContainsFunc(k.States, func(s string) bool { return after[s] > before[s] })
}
