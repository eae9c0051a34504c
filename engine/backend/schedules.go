package backend

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"

	"pulley/engine/plan"
	"pulley/engine/schedule"
)

// Scheduler is a backend that stores schedules. It decides nothing: engines claim due schedules, decide with package schedule,
// store the decision, and only then carry it out. All times are the store's, so that no two clocks meet.
//
// A version guards each schedule: it rises with every claim and every save, and a save with an older one changes nothing. So the
// decision on a tick is stored once. What a crash keeps from being carried out is in the stored State, and the engine that claims
// the schedule next finds it there.
type Scheduler interface {
	// AddSchedule stores a new schedule, which begins now. It fails with ErrScheduleExists if the name is used, unless the id is
	// the same: then the call is a repetition.
	AddSchedule(ctx context.Context, s Schedule, paused bool) error

	// Schedules reads schedules by name, or all of them without names, ordered by name, and the store's time. Unknown names are
	// left out.
	Schedules(ctx context.Context, names ...string) ([]StoredSchedule, time.Time, error)

	// RemoveSchedule removes a schedule, and reports whether there was one. Its instances stay.
	RemoveSchedule(ctx context.Context, name string) (bool, error)

	// ClaimSchedules leases up to max due schedules to the caller: none of them is claimed again before the lease ends, or a save
	// sets another time. Concurrent claims share the due schedules.
	ClaimSchedules(ctx context.Context, max int, lease time.Duration) (ClaimedSchedules, error)

	// SaveSchedules stores states, each on its own, and reports for each whether it was stored: only if the version is current,
	// which rises by one.
	SaveSchedules(ctx context.Context, saves []ScheduleSave) ([]bool, error)
}

// ErrScheduleExists means that another schedule has the name.
var ErrScheduleExists = errors.New("there is a schedule of that name")

// Schedule says what is started, and when.
type Schedule struct {
	ID      uuid.UUID // makes a repeated AddSchedule safe; the ids of its instances follow from it
	Name    string    // unique, not empty
	Program *plan.Program
	Input   json.RawMessage // of each instance; a JSON object
	Times   *schedule.Schedule
}

// StoredSchedule is a schedule and where it stands.
type StoredSchedule struct {
	Schedule
	State   schedule.State
	Version int64
	Wake    time.Time // when it is due; zero: never

	// Err says why this process cannot use the schedule: its workflow or its times are unreadable, since a later version stored
	// them, or this machine does not know the time zone. Program or Times is nil then.
	Err error
}

// ClaimedSchedules is the effect of a claim.
type ClaimedSchedules struct {
	Schedules []StoredSchedule // earliest first
	Now       time.Time        // the store's time
	NextDue   time.Time        // when the next schedule is due, on the store's clock, if fewer than max were due; zero: unknown, or never
}

// ScheduleSave is a state to be stored.
type ScheduleSave struct {
	ID      uuid.UUID
	Version int64 // that the state follows from
	State   schedule.State
	Wake    time.Time // on the store's clock; zero: never
}
