package memory

import (
	"context"
	"fmt"
)

// listener holds at most one wake that was not delivered yet: two that come together are one.
type listener struct{ notified chan struct{} }

// Listen calls wake after every Notify, until ctx or the backend ends; see backend.Listener.
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

// listenError keeps to the contract that the end of ctx is no error.
func (b *Backend) listenError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("memory: listen: %w", err)
}

// Notify wakes all who listen on the store. The caller's own listener is woken as well, since two
// engines may share one backend.
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
