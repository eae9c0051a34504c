package backend_test

import (
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/plan"
)

// The author of a design stores an enqueue's arguments in a row. A large value is in its slot only: the task's arguments are
// assembled when the node run is leased.
func ExampleAssembleArgs() {
	report := plan.Slot{Var: 3}
	row, err := backend.EncodeArgs([]plan.Arg{{Name: "to", Value: json.RawMessage(`"Ada"`)}, {Name: "report", Ref: &report}})
	if err != nil {
		fmt.Println(err)
		return
	}
	args, err := backend.DecodeArgs(row) // of the row that was leased
	if err != nil {
		fmt.Println(err)
		return
	}
	inbox := map[plan.Slot]json.RawMessage{}
	for _, slot := range backend.Refs(args) {
		fmt.Println("to be read:", backend.FormatSlot(slot))
		inbox[slot] = json.RawMessage(`{"pages": 1.50}`)
	}
	task, err := backend.AssembleArgs(args, func(s plan.Slot) (json.RawMessage, bool) { value, ok := inbox[s]; return value, ok })
	fmt.Println(string(task), err)
	// Output:
	// to be read: variable 3
	// {"to":"Ada","report":{"pages": 1.50}} <nil>
}

// A service that submits to a shard of its own choice draws ids until one belongs to the shard.
func ExampleShardOf() {
	const shards, wanted = 8, 5
	id := uuid.New()
	for backend.ShardOf(id, shards) != wanted {
		id = uuid.New()
	}
	fmt.Println(backend.ShardOf(id, shards), backend.CheckShard(wanted, shards), backend.CheckShard(9, shards))
	// Output:
	// 5 <nil> shard 9 of 8; give one from 0 to 7
}
