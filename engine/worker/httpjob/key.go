package httpjob

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"pulley/engine/worker"
)

const keyBytes = 200

// keyOf identifies an attempt by instance, node, path and number, equally for all its deliveries. The key is valid in a header
// and in an environment.
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
