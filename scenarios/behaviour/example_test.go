package behaviour_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/scenarios/behaviour"
	"pulley/scenarios/dist"
)

// An action takes time and fails for a tenth of its attempts. The reference interpreter runs the same action without the time,
// and knows which attempts fail.
func ExampleNew() {
	service, err := dist.Parse("exp:1ms", dist.Durations, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	actions, err := behaviour.New(42, behaviour.Description{
		Name: "charge", Service: service,
		Fails: []behaviour.Failure{{Share: 0.1, Type: "Declined", Message: "the card is declined"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	failed, differ := 0, 0
	for order := range 100 {
		task := backend.Task{Action: "charge", Args: json.RawMessage(fmt.Sprintf(`{"order": %d}`, order)), Attempt: 1}
		task.Lease.Key.Instance = uuid.New()
		_, timed := actions.Timed().Execute(context.Background(), task)
		_, instant := actions.Instant().Execute(context.Background(), task)
		if timed != nil {
			failed++
		}
		if (timed == nil) != (instant == nil) {
			differ++
		}
	}
	fmt.Println("some fail:", failed > 0 && failed < 30, "differ:", differ)
	// Output:
	// some fail: true differ: 0
}
