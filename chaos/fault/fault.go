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

// Fault is one thing that goes wrong.
type Fault struct {
	Kind   string `json:"kind"`
	When   When   `json:"when,omitzero"`
	Engine int    `json:"engine"` // whom it hits, from 0; a fault of the server hits all

	HoldMS int  `json:"hold_ms,omitempty"` // how long it lasts
	K      int  `json:"k,omitempty"`       // which message, commit or statement edge, from 1; of a delay, a slow worker or a jump of a clock, milliseconds
	Server bool `json:"server,omitempty"`  // it counts the server's messages, not the client's
	Late   bool `json:"late,omitempty"`    // the message arrives, and nothing after it
	Bytes  int  `json:"bytes,omitempty"`   // of a piece
}

// When says at which moment a fault begins, counted from the end of the fault before it. Both conditions
// hold.
type When struct {
	AfterMS int    `json:"after_ms,omitempty"`
	Event   string `json:"event,omitempty"` // a kind of event of a history, such as "answered"; empty: none is waited for
	N       int    `json:"n,omitempty"`     // so many of them after AfterMS, from 1
}

// String words the fault for a person.
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

// Hold is HoldMS.
func (f Fault) Hold() time.Duration { return time.Duration(f.HoldMS) * time.Millisecond }

// Timing is what the lengths of faults are drawn by.
type Timing struct {
	Lease time.Duration // of tasks, and of shards where they have owners
	Call  time.Duration // the longest call of the store
}

// Kind is a kind of fault.
type Kind struct {
	Name string // GROUP.WHAT
	Doc  string // one line

	// Lacks says in a few words why a world cannot have it, and gives "" where it can. Nil: every world can.
	Lacks func(World) string

	// States are SQLSTATEs. It has not happened unless an error with one of them has reached an engine. Nil: it
	// need not make a statement fail.
	States []string

	// Unvisited lists the messages of the baseline to which it has not come, if it goes from one to the next. Nil: it
	// does not.
	Unvisited func(*Places) []string

	// Nth says that K is how many of something are to pass until it happens, so that a smaller K is a sooner one.
	Nth bool

	// Draw fills in the parameters that the kind has. Nil: it has none.
	Draw func(r *rand.Rand, t Timing, f *Fault)

	// Inject makes it happen; see the package's description. It calls over once for each time that it did.
	Inject func(ctx context.Context, w World, f Fault, over func()) error
}

// Group is the first half of the name.
func (k Kind) Group() string {
	group, _, _ := strings.Cut(k.Name, ".")
	return group
}

// ErrMissed is in the error of a fault that did not happen.
var ErrMissed = errors.New("the fault did not happen")

// World is what faults happen in.
type World interface {
	Engines() int
	Engine(i int) Engine
	Wire(i int) *Wire                             // between an engine and the server
	Server() Server                               // nil: it cannot be stopped
	Standby() (Standby, error)                    // the server's; an error says why it can have none
	Container() (Container, error)                // the server's; an error says why it is in none
	Host(i int) (Container, error)                // an engine's; an error says why engines are in none
	Disk() (Disk, error)                          // the server's; an error says why it has none of its own
	HasWorkers() bool                             // engines run actions in processes of their own
	Failed() map[string]int                       // errors that have reached engines, by SQLSTATE
	Admin(ctx context.Context) (*pgx.Conn, error) // a superuser's connection past all wires; the caller closes it
}

// Engine is a process with an engine.
type Engine interface {
	// Signal sends the process a signal.
	Signal(s syscall.Signal) error

	// Exited is closed when the process has ended, as it is now: the next one has another.
	Exited() <-chan struct{}

	// Stop has the engine stop in an orderly way, and its process end.
	Stop(ctx context.Context) error

	// Start starts a new process where the one before has ended, and returns when its engine works.
	Start(ctx context.Context) error

	// Order tells the process to misbehave.
	Order(o Order) error

	// OrdersDone is how often the process has said that it did so.
	OrdersDone() int
}

// Server is a server that can be stopped. *pgserver.Server is one.
type Server interface {
	Stop(ctx context.Context, mode pgserver.StopMode) error
	Start(ctx context.Context) error
}

// Standby is what a server does that can have a standby. *pgserver.Server does.
type Standby interface {
	AddStandby(ctx context.Context) error    // there is one, and every commit waits for it
	RemoveStandby(ctx context.Context) error // there is none
	Promote(ctx context.Context) error       // the server is killed, and its standby takes its place
}

// Container is what can happen to the container that the server is in, or an engine.
type Container interface {
	Pause(ctx context.Context) error      // its processes stand still
	Unpause(ctx context.Context) error    // they go on
	Restart(ctx context.Context) error    // it is killed and started again, and its server answers; an engine is not in it again
	Disconnect(ctx context.Context) error // it is in no network
	Connect(ctx context.Context) error    // it is again, and its server answers
}

// Disk is a small disk that a server has its data on, and nobody else.
type Disk interface {
	Fill() error // no byte is left
	Free() error // what filled it goes
}

// Order is what a process is told to do. One field is set.
type Order struct {
	SlowMS     int  `json:"slow_ms,omitempty"`     // every action takes so much longer, until the next order
	Die        int  `json:"die,omitempty"`         // it kills itself at this edge of a statement, from 1
	JumpMS     int  `json:"jump_ms,omitempty"`     // its clock is so far ahead, or behind, until the next order
	KillWorker bool `json:"kill_worker,omitempty"` // it kills one of the processes that run its actions, which has some
	Repeat     int  `json:"repeat,omitempty"`      // completions are offered in another order and again, in so many of a hundred calls, until the next order
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

// Find gives the kind of a name.
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

// Exhaustive says whether the kind goes from one message to the next, until it has come to all.
func (k Kind) Exhaustive() bool { return k.Unvisited != nil }

// Select gives the kinds that words name: all, none, the name of a kind or of a group. Those that are exhaustive are named one by one.
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

// Every lists the kinds that are exhaustive.
func Every() []Kind {
	return slices.DeleteFunc(Kinds(), func(k Kind) bool { return !k.Exhaustive() })
}

// Draw makes a plan of n faults of the kinds, from a seed, for so many engines: each kind as often as the
// others, in random order. Without kinds it is empty.
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

// longestOf is how many faults of a kind Longest chooses from.
const longestOf = 32

// Longest makes a plan of one fault of each kind, from a seed, for so many engines, in random order: each lasts nearly as
// long as any that Draw gives.
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

// upToLease has a fault go on for up to a lease.
func upToLease(r *rand.Rand, t Timing, f *Fault) { f.HoldMS = between(r, t.Lease/4, t.Lease) }

// between draws milliseconds between two lengths.
func between(r *rand.Rand, least, most time.Duration) int {
	return int((least + time.Duration(r.Int64N(int64(most-least)+1))).Milliseconds())
}

// until has a fault go on for its time, and then until an error with one of the states has reached an engine that was not among
// those before, as World.Failed counted them, if that takes no longer than armedFor. Meanwhile something may be done again and again; nil: nothing.
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

// HasHappened says whether one of the kind's states, if it has some, came between two counts of World.Failed.
func (k Kind) HasHappened(before, after map[string]int) bool {
	return len(k.States) == 0 || slices.ContainsFunc(k.States, func(s string) bool { return after[s] > before[s] })
}
