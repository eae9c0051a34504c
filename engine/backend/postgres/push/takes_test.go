package push

import (
	"slices"
	"testing"

	"github.com/google/uuid"
)

func TestTriesSortTheirOwnLocks(t *testing.T) {
	of := func(node int32) span { return span{instance: uuid.UUID{1}, id: node} }
	first := lockSet{counters: []span{of(2), of(1), of(2)}}
	second := first
	second.sort()
	if want := []span{of(1), of(2)}; !slices.Equal(second.counters, want) {
		t.Errorf("sorted are %+v; want %+v", second.counters, want)
	}
	if want := []span{of(2), of(1), of(2)}; !slices.Equal(first.counters, want) {
		t.Errorf("the other try has %+v; want %+v", first.counters, want)
	}
}
