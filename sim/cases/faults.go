package cases

import "math/rand/v2"

// Kind says what a fault is.
type Kind string

// The kinds of faults.
const (
	Kill              Kind = "kill"      // an engine's process dies, and another begins later
	Freeze            Kind = "freeze"    // an engine's process stands still for a while
	Cut               Kind = "cut"       // a connection breaks; both ends notice soon
	Hang              Kind = "hang"      // a connection breaks, and neither end notices for a while
	Lost              Kind = "lost"      // the next answer on a connection is lost, what it answers is applied
	Partition         Kind = "partition" // an engine's connections break, and it gets no new ones for a while
	Crash             Kind = "crash"     // the server's process dies with all that was under way, and is back later
	Terminate         Kind = "terminate" // the server ends a session
	Timeout           Kind = "timeout"   // the server gives up what a session is at
	Full              Kind = "full"      // the server's disk is full for a while
	Slow              Kind = "slow"      // an engine's messages take long for a while, and overtake each other
	Jump              Kind = "jump"      // the server's clock jumps
	Drift             Kind = "drift"     // an engine's clock goes at another rate
	MissNotifications Kind = "deaf"      // an engine hears of no notifications for a while
	Repeat            Kind = "repeat"    // an engine hears of a notification again
	Resubmit          Kind = "resubmit"  // a client hands an instance in again, to another engine
	Stop              Kind = "stop"      // an engine is told to stop, does so in an orderly way, and begins again later
	Stuck             Kind = "stuck"     // a task goes on for long after it should have ended
)

// Kinds lists all.
func Kinds() []Kind {
	return []Kind{Kill, Freeze, Cut, Hang, Lost, Partition, Crash, Terminate, Timeout, Full, Slow, Jump, Drift, MissNotifications, Repeat, Resubmit, Stuck, Stop}
}

// draw fills in how long a fault lasts and how much it is.
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

// KindNumber is the place of a kind among Kinds.
func KindNumber(k Kind) int64 { return kindNumbers[k] }

// KindsMax is how many kinds there are.
const KindsMax = 18
