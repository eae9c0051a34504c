package forward

import (
	"strings"

	"github.com/google/uuid"

	"pulley/internal/pgstore"
)

// answeredBy begins the notification of an answer; the request's id follows.
const answeredBy = "answered "

// awaitedMax bounds the requests in flight that are notified. Those beyond it poll.
const awaitedMax = 1000

// HandleNotification handles a payload of the channel, and reports whether it announced an answer. The empty payload, with which
// listening begins, makes every request poll, since a notification may have been missed.
func (d *Forwarder) HandleNotification(payload string) (answer bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if payload == "" {
		for _, told := range d.awaited {
			pgstore.Signal(told)
		}
		return false
	}
	text, answer := strings.CutPrefix(payload, answeredBy)
	if id, err := uuid.Parse(text); answer && err == nil {
		if told := d.awaited[id]; told != nil { // otherwise another engine sent it, or nobody waits any more
			pgstore.Signal(told)
		}
	}
	return answer
}

// expectAnswer registers a request for its notification, until stopExpecting. It returns nil if there are too many.
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

func (d *Forwarder) stopExpecting(id uuid.UUID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.awaited, id)
}
