package pairs_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"pulley/bench/gate/pairs"
)

// Two programs take turns; a seed decides which of them begins each pair.
func ExampleRun() {
	commands := map[pairs.Side]pairs.Command{
		pairs.Baseline:  {Args: []string{"echo", "old"}, Timeout: time.Minute},
		pairs.Candidate: {Args: []string{"echo", "new"}, Timeout: time.Minute},
	}
	var outputs []string
	err := pairs.Run(context.Background(), 4, 1, pairs.UntilAfter(time.Hour), func(ctx context.Context, side pairs.Side, pair int) error {
		out, err := commands[side].Run(ctx)
		outputs = append(outputs, fmt.Sprint(pair, " ", strings.TrimSpace(string(out))))
		return err
	})
	fmt.Println(outputs, err)
	// Output:
	// [0 old 0 new 1 old 1 new 2 old 2 new 3 old 3 new] <nil>
}
