package journal

import (
	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/state"
	"pulley/engine/plan"
)

// instance is a running instance as its shard's owner knows it: what its events, applied in their order, have
// made of it. Nothing of an instance that has ended, or was found not to be new after all, is in memory.
type instance struct {
	state.Instance
	program  *plan.Program
	workflow int32 // the program's number in the store

	events   []int64 // the seqs of what is stored of it
	look     int     // at how many events it is asked next whether the state is to be written down
	snapshot int64   // the seq of the event that has its state, when it was loaded; zero: none
}

// newInstance makes an instance in which nothing is yet.
func newInstance(id uuid.UUID, program *plan.Program, workflow int32) *instance {
	inst := &instance{program: program, workflow: workflow}
	inst.ID, inst.Core, inst.Owner = id, program, inst
	return inst
}

// instanceOf gives the instance of a node run.
func instanceOf(r *state.Run) *instance { return r.Inst.Owner.(*instance) }

// task gives a leased run to its holder.
func (b *Backend) task(r *state.Run) (backend.Task, error) {
	args, err := r.AssembleArgs()
	return backend.Task{
		Lease:   backend.Lease{Key: backend.Key{Instance: r.Inst.ID, Run: r.Key}, Token: r.Token},
		Program: instanceOf(r).program,
		Action:  r.Action,
		Args:    args,
		Attempt: int(r.Attempt),
		Expires: b.wall(r.Due),
	}, err
}
