package dist

import "math/rand/v2"

// Key hashes a random number's name, so that the number depends only on that and a seed, not on the order of draws. It is
// FNV-1a, followed by the finalizer of splitmix64: FNV's high bits hardly change with the last bytes. The zero value is not a
// key; start with NewKey.
type Key uint64

// NewKey returns the empty key.
func NewKey() Key { return 0xcbf29ce484222325 }

// Byte adds a byte.
func (k Key) Byte(b byte) Key { return (k ^ Key(b)) * 0x100000001b3 }

// Text adds a text and its end.
func (k Key) Text(text string) Key {
	for i := range len(text) {
		k = k.Byte(text[i])
	}
	return k.Byte(0xff) // occurs in no text
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

// Sum returns the hash.
func (k Key) Sum() uint64 {
	h := uint64(k)
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// Rand returns a seed's generator for the key.
func (k Key) Rand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, k.Sum())) }
