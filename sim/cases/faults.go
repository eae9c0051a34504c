package cases

import "math/rand/v2"

// Kind is a kind of fault.
type Kind string

// The kinds of faults.
const (
	Kill              Kind = "kill"      // an engine's process dies; another begins later
	Freeze            Kind = "freeze"    // an engine's process is paused
	Cut               Kind = "cut"       // a connection breaks; both ends notice soon
	Hang              Kind = "hang"      // a connection breaks; neither end notices for a while
	Lost              Kind = "lost"      // the next answer on a connection is lost after it took effect
	Partition         Kind = "partition" // an engine's connections break, and it gets no new ones for a while
	Crash             Kind = "crash"     // the server's process dies and is back later
	Terminate         Kind = "terminate" // the server ends a session
	Timeout           Kind = "timeout"   // the server cancels a session's statement
	Full              Kind = "full"      // the server's disk is full for a while
	Slow              Kind = "slow"      // an engine's messages are slow for a while and overtake each other
	Jump              Kind = "jump"      // the server's clock jumps
	Drift             Kind = "drift"     // an engine's clock changes its rate
	MissNotifications Kind = "deaf"      // an engine receives no notifications for a while
	Repeat            Kind = "repeat"    // an engine receives a notification again
	Resubmit          Kind = "resubmit"  // a client submits an instance again, to another engine
	Stop              Kind = "stop"      // an engine stops in an orderly way and begins again later
	Stuck             Kind = "stuck"     // a task continues long after it should have ended
)

// Kinds lists all kinds.
func Kinds() []Kind {
	return []Kind{Kill, Freeze, Cut, Hang, Lost, Partition, Crash, Terminate, Timeout, Full, Slow, Jump, Drift, MissNotifications, Repeat, Resubmit, Stuck, Stop}
}

func (f *Fault) draw(r *rand.Rand, c *Case) {
	short, long := 1+r.Int64N(20_000), 1+r.Int64N(3*c.LeaseUS)
	f.ForUS = short
	if r.IntN(3) == 0 {
		f.ForUS = long
	}
	switch f.Kind {
	case Crash, Full, Partition:
		f.ForUS = min(f.ForUS, 1_000_000)
	case Jump:
		f.By = r.Int64N(4*c.LeaseUS) - 2*c.LeaseUS
	case Drift:
		f.By = r.Int64N(400) - 200
	}
}

var kindNumbers = func() map[Kind]int64 {
	out := map[Kind]int64{}
	for i, k := range Kinds() {
		out[k] = int64(i)
	}
	return out
}()

// KindNumber returns the index of a kind in Kinds.
func KindNumber(k Kind) int64 { return kindNumbers[k] }

// KindsMax is the number of kinds.
const KindsMax = 18
