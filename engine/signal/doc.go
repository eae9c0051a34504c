// Package signal lets node runs wait for signals, on any store.
//
// A node run that calls [Action] is leased like any other. Its engine stores the wait, and looks for a signal ([Keeper.Wait]): the wait takes
// the oldest signal of its name, or times out at its deadline, and the task completes. Otherwise the task is returned to the store,
// due at the deadline, or after some minutes. So a wait takes no worker and no memory.
//
// Engines take turns ([Keeper.Turn]) with the waits for which a signal is new, and make their node runs due. So they are delivered
// again, and take it.
//
// # What a crash leaves
//
//   - What a wait has come to is stored with it, under the key of its node run, before the task completes: each delivery finds it
//     there. A signal that a wait has taken is no other's.
//   - A signal whose waits were not made due, since the engine was killed in between, is still due: so is each wait that an engine
//     claimed, or began to return, after [Keeper.Hold].
//   - A signal may come while a node run is being returned: too late to be found, and too early for it to be made due. So a wait only
//     rests after its lease was returned, unless there is a signal by then; until it rests, it is due after Hold.
//   - A wait outlives its node run, which has completed or was cancelled. It takes no signal any more, since only a delivery does, and
//     the first turn with it removes it.
//   - A delivery may take a signal when its node run was cancelled just before. So it looks at the node run afterwards, and returns the
//     signal if that is over. If the engine is killed in between, the signal is lost, as if it had come before the cancellation.
//   - What is left when an instance ends is removed by that turn, or, where there are only signals, some hours later.
package signal
