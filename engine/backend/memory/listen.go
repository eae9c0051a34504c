package memory

import (
	"context"
	"fmt"
)

// listener holds at most one undelivered wake.
type listener struct{ notified chan struct{} }

// Listen implements backend.Listener: it calls wake after every Notify, until ctx or the backend ends.
func (b *Backend) Listen(ctx context.Context, wake func()) error {
	l := &listener{notified: make(chan struct{}, 1)}
	b.store.mu.Lock()
	err := b.usable(ctx)
	if err == nil {
		b.store.listeners[l] = struct{}{}
	}
	b.store.mu.Unlock()
	if err != nil {
		return b.listenError(ctx, err)
	}
	defer func() {
		b.store.mu.Lock()
		delete(b.store.listeners, l)
		b.store.mu.Unlock()
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-b.closed:
			return b.listenError(ctx, ErrClosed)
		case <-l.notified:
			wake()
		}
	}
}

func (b *Backend) listenError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("memory: listen: %w", err)
}

// Notify wakes all listeners of the store, the caller's own included, since two engines may share a backend.
func (b *Backend) Notify(ctx context.Context) error {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	if err := b.usable(ctx); err != nil {
		return fmt.Errorf("memory: notify: %w", err)
	}
	for l := range b.store.listeners {
		select {
		case l.notified <- struct{}{}:
		default:
		}
	}
	return nil
}
