package protocol

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// Version is this package's protocol version.
const Version = 1

// LineBytes bounds a line, including its line feed.
const LineBytes = 8 << 20

// Run is an attempt, as sent to a worker.
type Run struct {
	Action   string          `json:"action"`
	Instance string          `json:"instance"`
	Node     string          `json:"node"`
	Path     string          `json:"path"`
	Attempt  int             `json:"attempt"`
	Key      string          `json:"key"`
	Args     json.RawMessage `json:"args"` // an object
}

// Fields returns the part of the run's lines that its deliveries share.
func (r Run) Fields() ([]byte, error) {
	// The arguments, which may be long, are JSON already: they are copied, on one line.
	args := r.Args
	r.Args = json.RawMessage("0")
	fields, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	fields = fields[1 : len(fields)-len("0}")] // ends with "args":
	if bytes.ContainsAny(args, "\r\n") {
		var line bytes.Buffer
		if err := json.Compact(&line, args); err != nil {
			return nil, err
		}
		args = line.Bytes()
	}
	return append(append(fields, args...), "}\n"...), nil
}

// AppendRun appends the line of a delivery. The fields are those of Run.Fields; timeoutMS is 0 for none.
func AppendRun(line []byte, id uint64, delivery int, timeoutMS int64, fields []byte) []byte {
	line = append(line, `{"pulley":"run","id":"`...)
	line = strconv.AppendUint(line, id, 10)
	line = append(line, `","delivery":`...)
	line = strconv.AppendInt(line, int64(delivery), 10)
	if timeoutMS > 0 {
		line = append(line, `,"timeout_ms":`...)
		line = strconv.AppendInt(line, timeoutMS, 10)
	}
	line = append(line, ',')
	return append(line, fields...)
}

// RunOverhead exceeds what AppendRun adds to the fields.
const RunOverhead = 128

// Hello returns pulley's first line.
func Hello() []byte { return []byte(`{"pulley":"hello","version":1}` + "\n") }

// Cancel returns the line that cancels a delivery.
func Cancel(id uint64) []byte {
	return append(strconv.AppendUint([]byte(`{"pulley":"cancel","id":"`), id, 10), "\"}\n"...)
}

// Bye returns the line after which no attempts come.
func Bye() []byte { return []byte(`{"pulley":"bye"}` + "\n") }
