package httpjob

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"pulley/engine/worker"
)

// keyBytes bounds a key.
const keyBytes = 200

// keyOf names an attempt: its instance, node, path and number. Every delivery of the attempt has the same key, and no other
// attempt has it. It is fit for a header and for an environment.
func keyOf(call worker.Call) string {
	var b strings.Builder
	for _, c := range []byte(call.Key()) {
		if c > ' ' && c < 0x7F && !strings.ContainsRune(`%"\`, rune(c)) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	key, attempt := b.String(), "#"+strconv.Itoa(call.Attempt)
	if len(key)+len(attempt) > keyBytes {
		digest := sha256.Sum256([]byte(call.Key()))
		key = key[:keyBytes/2] + "~" + hex.EncodeToString(digest[:])
	}
	return key + attempt
}
