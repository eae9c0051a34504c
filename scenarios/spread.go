package scenarios

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// spread is several spreads one after the other, with work that takes longer for some elements than
// for others, so that results come back in another order than they started in.
func spread() Scenario {
	return Scenario{
		Name:         "spread",
		Doc:          "three spreads one after the other with uneven work; the result depends on the order of each",
		SizeMeans:    "elements of the first two spreads; the third has a third of them",
		DefaultSizes: []int{10, 100, 400},
		build:        buildSpread,
	}
}

// hashBytes is the length of a hash as JSON.
const hashBytes = 2*sha256.Size + len(`""`)

// roundsMax bounds the work of one element to seconds.
const roundsMax = 1_000_000

func buildSpread(size int, opts Options) (Workload, error) {
	lim := opts.Limits.WithDefaults()
	third := (size + 2) / 3
	if err := within("elements of one spread", size, lim.SpreadElements); err != nil {
		return Workload{}, err
	}
	// The longest value is what the last action hashes.
	if err := within("bytes of one value", listBytes(size+third, func(int) int { return hashBytes }), lim.ValueBytes); err != nil {
		return Workload{}, err
	}
	if err := within("rounds of hashing", opts.Rounds, roundsMax); err != nil {
		return Workload{}, err
	}
	w, err := fromProgram("spread", opts.Limits)
	w.Input = fmt.Appendf(nil, `{"width":%d,"rounds":%d}`, size, opts.Rounds)
	w.Expected = strconv.AppendQuote(nil, spreadDigest(size, opts.Rounds))
	w.Nodes = 1 + size + size + third + 1
	return w, err
}

// spreadDigest does what the program says, one element after the other.
func spreadDigest(width, rounds int) string {
	var second, third []string
	for n := range width {
		first := hash(strconv.Itoa(n), rounds*(1+n%5))
		second = append(second, hash(strconv.Itoa(n)+":"+first, rounds))
	}
	for n := 0; n < width; n += 3 {
		third = append(third, hash(second[n], 1))
	}
	return hash(strings.Join(append(second, third...), ","), 1)
}

// hash is the SHA-256 of a text in hexadecimal digits, the SHA-256 of those digits, and so on.
func hash(text string, rounds int) string {
	for range rounds {
		sum := sha256.Sum256([]byte(text))
		text = hex.EncodeToString(sum[:])
	}
	return text
}
