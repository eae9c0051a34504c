package forward_test

import (
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"pulley/engine/backend/postgres/journal/internal/forward"
)

// A request is the body of a row. The owner of the shard reads it there, and writes its answer into the same row.
func ExampleMessage_Request() {
	id := uuid.MustParse("6f1c5a52-6c0e-4a2e-9df2-0a8f7c1d2e3f")
	body, err := json.Marshal(forward.Request{Op: forward.Cancel, IDs: []uuid.UUID{id}, Reason: "the shop is closed"})
	if err != nil {
		fmt.Println(err)
		return
	}
	row := forward.Message{ID: uuid.New(), Body: body}

	asked, err := row.Request()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(asked.Op, asked.IDs, "because", asked.Reason)

	_, err = forward.Message{Body: []byte("{")}.Request()
	fmt.Println(err != nil)
	// Output:
	// cancel [6f1c5a52-6c0e-4a2e-9df2-0a8f7c1d2e3f] because the shop is closed
	// true
}
