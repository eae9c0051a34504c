package pgwire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
)

// cancelRequest is the first code of a cancel request's connection.
const cancelRequest = 80877102

// messageBytesMax bounds a message, as in the server.
const messageBytesMax = 1 << 30

// Message is one message in transit. The judge owns it until it returns.
type Message struct {
	Client  bool   // from the client, not the server
	Startup bool   // the client's first message, without a type
	Data    []byte // all of it, including type and length

	// Done is closed when the connection or the proxy ends. A waiting judge must watch it.
	Done <-chan struct{}
}

// Type is the type byte; zero for the startup packet.
func (m *Message) Type() byte {
	if m.Startup {
		return 0
	}
	return m.Data[0]
}

// Body is what follows type and length.
func (m *Message) Body() []byte {
	if m.Startup {
		return m.Data[4:]
	}
	return m.Data[5:]
}

// Text returns the string at the beginning of a body, and the rest after its zero byte. In a query, a prepared statement and a
// command's completion it is the readable part.
func Text(body []byte) (text string, rest []byte) {
	i := bytes.IndexByte(body, 0)
	if i < 0 {
		return string(body), nil
	}
	return string(body[:i]), body[i+1:]
}

// NewMessage builds a message.
func NewMessage(kind byte, body []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(body)+4)), body...)
}

// End is what happens to a message's connection.
type End int

// The ends.
const (
	Stay  End = iota // the connection stays open
	Close            // both sides see an orderly close
	Reset            // the client sees a reset
)

// Verdict is a judge's decision about a message. The zero value loses it.
type Verdict struct {
	Deliver bool  // pass it on
	Slice   int   // size of pieces in bytes; zero: whole
	End     End   // after that
	Hold    *Hold // for a client's message: replaces all of the above
}

// Hold delivers a message, and what the client sent after it, long after the client has disconnected.
type Hold struct {
	Release <-chan struct{} // closed to deliver it
	Passed  chan<- error    // buffered; receives nil when the server has answered and closed
}

func readMessage(r io.Reader, startup bool) ([]byte, error) {
	head := make([]byte, 5)
	if startup {
		head = head[:4]
	}
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	size := int(binary.BigEndian.Uint32(head[len(head)-4:])) - 4
	if size < 0 || size > messageBytesMax || startup && size < 4 {
		return nil, fmt.Errorf("a message of %d bytes", size)
	}
	message := append(head, make([]byte, size)...)
	_, err := io.ReadFull(r, message[len(head):])
	return message, err
}

func send(to net.Conn, data []byte, slice int) error {
	if slice <= 0 {
		slice = len(data)
	}
	for len(data) > 0 {
		n := min(slice, len(data))
		if _, err := to.Write(data[:n]); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}
