package protocol

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"unicode/utf8"
)

const (
	// idWithin is where the id of a message must be that is too long to be read: among the first bytes.
	idWithin = 4 << 10
	// beginsMax bounds how many places in a line are tried where a message may begin.
	beginsMax  = 16
	bufferSize = 64 << 10
	// skipMax bounds the rest of a line that was too long.
	skipMax = 16 * LineBytes
)

// ErrEndless is the end of reading where a line has no end.
var ErrEndless = errors.New("it wrote a line without an end")

// ErrTooLong is the damage of a message that is longer than LineBytes.
var ErrTooLong = errors.New("it is longer than " + strconv.Itoa(LineBytes) + " bytes")

// Line is what a worker wrote in one line. It is valid until the next is read, except for its message.
type Line struct {
	Text    []byte   // what is for the log; the whole line where Message and Damage are nil
	Message *Message // nil: there is none, or it is damaged
	Damage  *Damage
}

// Damage is a message that cannot be read.
type Damage struct {
	Kind Kind   // empty: it cannot be read
	ID   string // of the attempt that it answers; empty: it cannot be read
	Err  error  // what is wrong; ErrTooLong among others
}

// LosesAnswer says that the damaged message may have been an answer to nobody knows which attempt.
func (d *Damage) LosesAnswer() bool {
	return d.ID == "" && (d.Kind == "" || d.Kind == KindResult || d.Kind == KindError)
}

// Reader reads the lines of a worker.
type Reader struct {
	in      *bufio.Reader
	most    int    // bytes of a line, its line feed included
	long    []byte // of a line that does not fit into the buffer
	skip    bool   // the rest of the line that was too long
	skipped int    // bytes of it so far
}

// NewReader reads messages from r.
func NewReader(r io.Reader) *Reader { return NewLineReader(r, LineBytes) }

// NewLineReader reads lines from r that have most bytes at most.
func NewLineReader(r io.Reader, most int) *Reader {
	return &Reader{in: bufio.NewReaderSize(r, min(bufferSize, most)), most: most}
}

// Next gives the next line. A line that is too long comes when it is known to be, and its rest is skipped. The text after the last
// line feed comes as a line without a message. The error is that of the reader below, io.EOF at the end, or ErrEndless.
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

// ReadLine gives a line as it came, without its line feed. Of a line that is too long it gives the begin. With an error it gives
// what came after the last line feed.
func (r *Reader) ReadLine() (line []byte, tooLong bool, err error) {
	r.long = r.long[:0]
	if cap(r.long) > 1<<20 {
		r.long = nil // one long line does not keep its memory
	}
	for {
		part, err := r.in.ReadSlice('\n')
		if r.skip {
			r.skipped += len(part)
			r.skip = errors.Is(err, bufio.ErrBufferFull)
			switch {
			case r.skip && r.skipped > skipMax:
				return nil, false, ErrEndless
			case r.skip || err == nil:
				continue
			}
			return nil, false, err
		}
		switch {
		case err == nil && len(r.long) == 0:
			return part[:len(part)-1], false, nil
		case err == nil && len(r.long)+len(part) <= r.most:
			r.long = append(r.long, part[:len(part)-1]...)
			return r.long, false, nil
		case len(r.long)+len(part) > r.most:
			r.skip, r.skipped = err != nil, 0
			return append(r.long, part[:r.most-len(r.long)]...), true, nil
		}
		r.long = append(r.long, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return r.long, false, err
		}
	}
}

// keyText is in every line with a message.
var keyText = []byte(`"pulley"`)

// messageBegin is how a message begins that stands behind something else.
var messageBegin = regexp.MustCompile(`\{\s*"pulley"\s*:\s*"`)

// Take takes a line apart.
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

// takeLong takes the begin of a line apart that is too long.
func takeLong(line []byte) Line {
	at := messageBegin.FindIndex(line[:min(len(line), idWithin)])
	if at == nil {
		return Line{Text: line}
	}
	return damaged(line, at[0], ErrTooLong)
}

// damaged gives what can be known of a message that begins somewhere in a line. Something of a kind that workers do not send is
// text, such as a message of ours that somebody printed.
func damaged(line []byte, begin int, err error) Line {
	kind, id := peek(line[begin:])
	if kind != "" && !kind.IsKnown() {
		return Line{Text: line}
	}
	return Line{Text: line[:begin], Damage: &Damage{Kind: kind, ID: id, Err: err}}
}

// peek reads kind and id at the begin of a message.
func peek(message []byte) (kind Kind, id string) {
	d := json.NewDecoder(bytes.NewReader(message[:min(len(message), idWithin)]))
	d.UseNumber()
	if _, err := d.Token(); err != nil { // the brace
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

// wrongWith says why a message cannot be read.
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
