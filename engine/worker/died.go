package worker

import "pulley/engine/plan"

// DiedError is the error of a Func whose worker, such as another process, died before it answered: the attempt's outcome is
// unknown. It does not end the attempt. After a pause the engine has the attempt delivered again, here or elsewhere, as if the
// engine itself had died, and fails it with the type WorkerDied once Config.MaxDeliveries is reached.
type DiedError struct {
	Cause error // what is known; may be nil
}

func (e *DiedError) Error() string {
	if e.Cause == nil {
		return "the worker died"
	}
	return "the worker died: " + e.Cause.Error()
}

func (e *DiedError) Unwrap() error { return e.Cause }

// typeDied is the type of an Executor's result in place of a failure. Programs neither name nor see it.
const typeDied = "(worker died)"

// DeathOf is an Executor's result for an attempt whose worker died; see DiedError.
func DeathOf(err *DiedError) *plan.Failure {
	return &plan.Failure{Type: typeDied, Message: clipped(err.Error())}
}

// IsDeath tells the death of a worker from a failure in an Executor's result.
func IsDeath(f *plan.Failure) bool { return f != nil && f.Type == typeDied }
