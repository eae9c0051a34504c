package worker

import "pulley/engine/plan"

// DiedError is the error of a Func whose call went to a worker, such as another process, that died before it gave an end: nobody
// knows what became of the attempt. It does not end the attempt. The engine has it delivered again after a pause, here or elsewhere, as
// if it had died itself, and fails it with the type WorkerDied once its Config.MaxDeliveries is reached.
type DiedError struct {
	Cause error // what is known of the death; may be nil
}

// Error says what died.
func (e *DiedError) Error() string {
	if e.Cause == nil {
		return "the worker died"
	}
	return "the worker died: " + e.Cause.Error()
}

// Unwrap gives the cause.
func (e *DiedError) Unwrap() error { return e.Cause }

// typeDied is the type of what an Executor gives in the place of a failure. No program can name it, and none sees it.
const typeDied = "(worker died)"

// DeathOf is what an Executor gives for an attempt whose worker died; see DiedError.
func DeathOf(err *DiedError) *plan.Failure {
	return &plan.Failure{Type: typeDied, Message: clipped(err.Error())}
}

// IsDeath says whether what an Executor gave is no failure of the attempt, but the death of its worker.
func IsDeath(f *plan.Failure) bool { return f != nil && f.Type == typeDied }
