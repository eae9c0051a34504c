package serve

import (
	"container/list"
	"sync"
)

// cache keeps what was used last, up to a cost. It is safe for concurrent use.
type cache[V any] struct {
	most int64

	mu   sync.Mutex
	used int64
	// order has the most recent entry in front.
	order *list.List
	at    map[string]*list.Element
}

type entry[V any] struct {
	key   string
	value V
	cost  int64
}

func newCache[V any](most int64) *cache[V] {
	return &cache[V]{most: most, order: list.New(), at: map[string]*list.Element{}}
}

func (c *cache[V]) get(key string) (value V, found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.at[key]
	if e == nil {
		return value, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*entry[V]).value, true
}

// put keeps nothing that costs more than all may.
func (c *cache[V]) put(key string, value V, cost int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.at[key]; e != nil {
		c.remove(e)
	}
	if cost > c.most {
		return
	}
	c.at[key] = c.order.PushFront(&entry[V]{key, value, cost})
	for c.used += cost; c.used > c.most; {
		c.remove(c.order.Back())
	}
}

func (c *cache[V]) remove(e *list.Element) {
	old := c.order.Remove(e).(*entry[V])
	delete(c.at, old.key)
	c.used -= old.cost
}
