package dist

import "math/rand/v2"

// Key hashes what names a random number, so that the number depends on its name and a seed, and on nothing else, such as
// the order in which numbers are drawn. It is FNV-1a, and then the finalizer of splitmix64, since FNV's high bits hardly
// change with the last bytes. The zero value is not a key; NewKey gives the key of nothing.
type Key uint64

// NewKey is the key of nothing.
func NewKey() Key { return 0xcbf29ce484222325 }

// Byte adds a byte.
func (k Key) Byte(b byte) Key { return (k ^ Key(b)) * 0x100000001b3 }

// Text adds the bytes of a text, and that it ends.
func (k Key) Text(text string) Key {
	for i := range len(text) {
		k = k.Byte(text[i])
	}
	return k.Byte(0xff) // which is in no text
}

// Bytes adds bytes.
func (k Key) Bytes(b []byte) Key {
	for _, c := range b {
		k = k.Byte(c)
	}
	return k
}

// Number adds a number.
func (k Key) Number(n int) Key {
	for i := range 8 {
		k = k.Byte(byte(uint64(n) >> (8 * i)))
	}
	return k
}

// Sum is the hash of what was added.
func (k Key) Sum() uint64 {
	h := uint64(k)
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// Rand is the generator of a seed for what was added.
func (k Key) Rand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, k.Sum())) }
