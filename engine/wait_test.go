package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
)

// An instance that was submitted here, and has ended elsewhere since, is found at once. One that was submitted just now is looked up
// after a pause, in which it may end here.
func TestWaitForAnEndElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memoryBackend(t, 1)
		e := start(t, Config{Backend: store, Poll: time.Hour})
		for _, since := range []time.Duration{time.Minute, 0} {
			id, err := e.Submit(t.Context(), SubmitRequest{Program: compile(t, "fn main(input: [], output: []):\n    sleep 3600\n"), Input: []byte(`{}`)})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := store.Cancel(t.Context(), []uuid.UUID{id}, "elsewhere"); err != nil {
				t.Fatal(err)
			}
			<-time.After(since)
			begun := time.Now()
			if inst, err := e.Wait(t.Context(), id); err != nil || inst.Status != backend.Canceled {
				t.Errorf("%+v, %v", inst, err)
			}
			if took, want := time.Since(begun), max(0, waitPollMine-since); took < want || took > want+waitPollFirst {
				t.Errorf("an instance that was submitted %v before is found after %v; want %v", since, took, want)
			}
		}
	})
}
