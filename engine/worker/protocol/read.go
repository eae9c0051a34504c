package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"unicode/utf8"

	"pulley/internal/lines"
)

const (
	// the id of a too long message must be in this first part
	idWithin = 4 << 10
	// places in a line where a message's begin is tried
	beginsMax = 16
)

// ErrEndless ends reading at an endless line.
var ErrEndless = lines.ErrEndless

// ErrTooLong is the damage of a message longer than LineBytes.
var ErrTooLong = errors.New("it is longer than " + strconv.Itoa(LineBytes) + " bytes")

// Line is one line of a worker. It is valid until the next is read, except for its message.
type Line struct {
	Text    []byte   // for the log; the whole line if Message and Damage are nil
	Message *Message // nil: none, or damaged
	Damage  *Damage
}

// Damage is an unreadable message.
type Damage struct {
	Kind Kind   // empty: unreadable
	ID   string // the answered attempt's; empty: unreadable
	Err  error  // ErrTooLong or another reason
}

// LosesAnswer reports whether the message may have answered an unknown attempt.
func (d *Damage) LosesAnswer() bool {
	return d.ID == "" && (d.Kind == "" || d.Kind == KindResult || d.Kind == KindError)
}

// Reader reads the lines of a worker.
type Reader struct{ *lines.Reader }

// NewReader reads messages from r.
func NewReader(r io.Reader) *Reader { return NewLineReader(r, LineBytes) }

// NewLineReader reads lines of at most most bytes from r.
func NewLineReader(r io.Reader, most int) *Reader { return &Reader{lines.NewReader(r, most)} }

// Next returns the next line. A too long line is returned as soon as that is known, and its rest is skipped. Text after the
// last line feed is a line without a message. The error is the underlying reader's, io.EOF at the end, or ErrEndless.
func (r *Reader) Next() (Line, error) {
	for {
		line, tooLong, err := r.ReadLine()
		switch {
		case err != nil && len(line) == 0:
			return Line{}, err
		case err != nil:
			return Line{Text: line}, nil
		case tooLong:
			return takeLong(line), nil
		case len(bytes.TrimSpace(line)) > 0:
			return Take(line), nil
		}
	}
}

var keyText = []byte(`"pulley"`)

// messageBegin matches the begin of a message after other text.
var messageBegin = regexp.MustCompile(`\{\s*"pulley"\s*:\s*"`)

// Take parses a line.
func Take(line []byte) Line {
	if !bytes.Contains(line, keyText) {
		return Line{Text: line}
	}
	if utf8.Valid(line) {
		message, err := parse(line)
		switch {
		case message != nil && err != nil && json.Valid(line):
			return Line{Damage: &Damage{Kind: message.Kind, ID: message.ID, Err: err}}
		case message != nil && err == nil:
			return Line{Message: message}
		case json.Valid(line):
			return Line{Text: line} // JSON, but no message
		}
	}
	begins := messageBegin.FindAllIndex(line, beginsMax)
	if len(begins) == 0 {
		return Line{Text: line}
	}
	for _, at := range begins {
		rest := line[at[0]:]
		if at[0] == 0 || !utf8.Valid(rest) || !json.Valid(rest) {
			continue
		}
		taken := Take(rest)
		taken.Text = line[:at[0]]
		return taken
	}
	return damaged(line, begins[0][0], wrongWith(line[begins[0][0]:]))
}

func takeLong(line []byte) Line {
	at := messageBegin.FindIndex(line[:min(len(line), idWithin)])
	if at == nil {
		return Line{Text: line}
	}
	return damaged(line, at[0], ErrTooLong)
}

// damaged returns what is known of a message that begins within a line. A kind that workers do not send is text, such as a
// printed message of ours.
func damaged(line []byte, begin int, err error) Line {
	kind, id := peek(line[begin:])
	if kind != "" && !kind.IsKnown() {
		return Line{Text: line}
	}
	return Line{Text: line[:begin], Damage: &Damage{Kind: kind, ID: id, Err: err}}
}

func peek(message []byte) (kind Kind, id string) {
	d := json.NewDecoder(bytes.NewReader(message[:min(len(message), idWithin)]))
	d.UseNumber()
	if _, err := d.Token(); err != nil {
		return "", ""
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			break
		}
		value, err := d.Token()
		if err != nil {
			break
		}
		switch text, isText := value.(string); {
		case key == "pulley" && isText:
			kind = Kind(text)
		case key == "id":
			id = fmt.Sprint(value)
		}
		if _, isNested := value.(json.Delim); isNested || kind != "" && id != "" {
			break
		}
	}
	return kind, id
}

func wrongWith(message []byte) error {
	if !utf8.Valid(message) {
		return errors.New("it is not UTF-8")
	}
	var any json.RawMessage
	err := json.Unmarshal(message, &any)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("it is not JSON: byte %d: %w", syntax.Offset, err)
	}
	return err
}
