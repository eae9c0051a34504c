package expr

import "math"

// Size returns the bytes of a Value for ir.Limits.ValueBytes: those of its JSON, or slightly more.
func Size(v Value) int {
	n := normalizer{bytesMax: math.MaxInt}
	if _, _, err := n.value(v, 0); err != nil {
		return n.bytesMax // deeper than any value can be
	}
	return n.bytes
}
