package forward

import (
	"strings"

	"github.com/google/uuid"

	"pulley/engine/backend/postgres"
)

// answeredBy begins what an engine hears of an answer; the id of the request follows.
const answeredBy = "answered "

// awaitedMax bounds how many requests in flight are told of their answers. Those beyond it look for theirs.
const awaitedMax = 1000

// HandleNotification takes in what was told on the channel, and says whether that was of an answer, and so of nothing else. Nothing, as a
// listener hears when it begins, has every request look for its answer: a notification may have been missed before.
func (d *Forwarder) HandleNotification(payload string) (answer bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if payload == "" {
		for _, told := range d.awaited {
			postgres.Signal(told)
		}
		return false
	}
	text, answer := strings.CutPrefix(payload, answeredBy)
	if id, err := uuid.Parse(text); answer && err == nil {
		if told := d.awaited[id]; told != nil { // else another engine has asked, or nobody waits any more
			postgres.Signal(told)
		}
	}
	return answer
}

// expectAnswer has a request be told of its answer, until stopExpecting. Nil: there are too many, and it is not told.
func (d *Forwarder) expectAnswer(id uuid.UUID) <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.awaited) >= awaitedMax {
		return nil
	}
	if d.awaited == nil {
		d.awaited = map[uuid.UUID]chan struct{}{}
	}
	told := make(chan struct{}, 1)
	d.awaited[id] = told
	return told
}

// stopExpecting ends what expectAnswer began.
func (d *Forwarder) stopExpecting(id uuid.UUID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.awaited, id)
}
