package limit

import (
	"cmp"
	"slices"
	"time"
)

// State is what the store keeps of a limit. Its zero value is that of a limit that nobody has used.
type State struct {
	NextStart time.Time `json:"next_start,omitzero"` // when the next start may be; earlier ones are handed out
	Engines   []Share   `json:"engines,omitempty"`   // that run or wait, by id

	Admitted int       `json:"admitted,omitempty"` // instances that have places; some may have ended
	Look     time.Time `json:"look,omitzero"`      // when it is next looked which have ended; zero: at any time
}

// Share is what one engine has of a limit, until a time.
type Share struct {
	Engine  string    `json:"engine"`
	Permits int       `json:"permits,omitempty"` // of concurrency
	Running int       `json:"running,omitempty"` // attempts, at its turn
	Waiting int       `json:"waiting,omitempty"` // tasks that it has leased and could start
	Since   time.Time `json:"since,omitzero"`    // since when it waits and has no permit
	Until   time.Time `json:"until"`
}

// Need is what an engine has at its turn.
type Need struct {
	Running int // attempts, which need a permit each
	Waiting int // tasks that it could start
	Granted int // starts granted before that it has not used
}

// Times bound what a turn grants.
type Times struct {
	Lease time.Duration // after which permits end without another turn
	Turn  time.Duration // the usual time between two turns of an engine
}

// Grant is what an engine got.
type Grant struct {
	Permits int // attempts that it may have running at once, for a lease; more may run on, but none may start

	Starts int       // Every apart; each is to be used within the rate's Slack
	First  time.Time // of the first start, on the store's clock

	Engines int // that need the limit
}

// Bounds in turns: starts are handed out so far ahead, and an engine without a permit waits so long until another one's turn is over.
const (
	turnsAhead    = 3
	turnsPatience = 10
)

// Decide takes an engine's turn. Its inputs are not changed. What runs already is granted in any case.
func (l Limit) Decide(st State, now time.Time, engine string, need Need, times Times) (State, Grant) {
	next := State{NextStart: st.NextStart}
	own := Share{Engine: engine}
	for _, s := range st.Engines {
		switch {
		case s.Engine == engine:
			own.Since = s.Since
		case s.Until.After(now):
			next.Engines = append(next.Engines, s)
		}
	}
	grant := Grant{}
	own.Running, own.Waiting, own.Until = need.Running, need.Waiting, now.Add(times.Lease)
	if l.Concurrency > 0 {
		grant.Permits = l.permits(next.Engines, own, need, now, times)
		own.Permits = max(grant.Permits, need.Running)
	}
	if l.Rate != (Rate{}) {
		next.NextStart = l.Rate.hand(&grant, next, now, need, times)
	}
	switch {
	case own.Permits > 0 || need.Waiting == 0 || l.Concurrency == 0:
		own.Since = time.Time{}
	case own.Since.IsZero():
		own.Since = now
	}
	if need != (Need{}) {
		at, _ := slices.BinarySearchFunc(next.Engines, engine, func(s Share, id string) int { return cmp.Compare(s.Engine, id) })
		next.Engines = slices.Insert(next.Engines, at, own)
	}
	grant.Engines = len(next.Engines)
	return next, grant
}

// permits returns the engine's part of the concurrency: what is free, and at most its share.
func (l Limit) permits(others []Share, own Share, need Need, now time.Time, times Times) int {
	free := l.Concurrency
	demands := []demand{{own, need.Running + need.Waiting, need.Running > 0}}
	for _, s := range others {
		free -= s.Permits
		demands = append(demands, demand{s, s.Running + s.Waiting, s.Permits > 0})
	}
	return max(0, min(free, share(demands, l.Concurrency, now, times)))
}

type demand struct {
	Share
	wanted  int
	running bool
}

// share divides n permits as max-min fairness does, and returns the part of demands[0]. Of what cannot be divided, engines that
// have waited for long get one first, then those that have some, then the others.
func share(demands []demand, n int, now time.Time, times Times) int {
	own := demands[0].Engine
	slices.SortFunc(demands, func(a, b demand) int { return cmp.Compare(a.wanted, b.wanted) })
	for i, d := range demands {
		left := len(demands) - i
		part := n / left
		if d.wanted > part {
			return divide(demands[i:], n, own, now, times)
		}
		if d.Engine == own {
			return d.wanted
		}
		n -= d.wanted
	}
	return 0
}

// divide gives equal parts to demands that all exceed theirs, and one of the rest to the first by rank.
func divide(demands []demand, n int, own string, now time.Time, times Times) int {
	slices.SortFunc(demands, func(a, b demand) int {
		return cmp.Or(cmp.Compare(a.rank(now, times), b.rank(now, times)), a.Since.Compare(b.Since), cmp.Compare(a.Engine, b.Engine))
	})
	for i, d := range demands {
		if d.Engine != own {
			continue
		}
		if i < n%len(demands) {
			return n/len(demands) + 1
		}
		return n / len(demands)
	}
	return 0
}

func (d demand) rank(now time.Time, times Times) int {
	switch {
	case !d.Since.IsZero() && now.Sub(d.Since) >= turnsPatience*times.Turn:
		return 0
	case d.running:
		return 1
	}
	return 2
}

// hand grants the engine's part of the starts that are handed out ahead, and returns when the next one is.
func (r Rate) hand(grant *Grant, st State, now time.Time, need Need, times Times) time.Time {
	end := now.Add(turnsAhead * times.Turn)
	next := st.NextStart
	if next.Before(now) {
		next = now
	}
	if latest := end.Add(r.Every()); next.After(latest) { // under another rate
		next = latest
	}
	all, more := need.Waiting, need.Waiting-need.Granted
	for _, s := range st.Engines {
		all += s.Waiting
	}
	if more <= 0 || next.After(end) {
		return next
	}
	free := int64(end.Sub(next)/r.Every()) + 1
	part := (free*int64(need.Waiting) + int64(all) - 1) / int64(all)
	grant.First, grant.Starts = next, int(min(int64(more), part))
	return next.Add(time.Duration(grant.Starts) * r.Every())
}

// Current returns the shares that have not ended.
func (st State) Current(now time.Time) []Share {
	return slices.DeleteFunc(slices.Clone(st.Engines), func(s Share) bool { return !s.Until.After(now) })
}

// Has reports whether an engine has a share.
func (st State) Has(engine string) bool {
	return slices.ContainsFunc(st.Engines, func(s Share) bool { return s.Engine == engine })
}
