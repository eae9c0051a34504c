package measure

import (
	"testing"
	"time"
)

func TestWaitRatio(t *testing.T) {
	second := time.Second
	if r := WaitRatio([]time.Duration{6 * second, 2 * second, 9 * second}, []int{2, 1, 0}); r == nil || *r != 1.5 {
		t.Errorf("means of 3 s and 2 s: %v", r)
	}
	for _, results := range [][]int{{3}, {0, 0}, nil} {
		if r := WaitRatio(make([]time.Duration, len(results)), results); r != nil {
			t.Errorf("%v: %v", results, *r)
		}
	}
}
