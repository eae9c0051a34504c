package expr

import "math"

// Size is the number of bytes that a Value counts towards ir.Limits.ValueBytes: that of its JSON, or a
// little more.
func Size(v Value) int {
	n := normalizer{bytesMax: math.MaxInt}
	if _, _, err := n.value(v, 0); err != nil {
		return n.bytesMax // deeper than any value can be
	}
	return n.bytes
}
