package pgwire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
)

// cancelRequest is the code that a connection for a cancel request begins with.
const cancelRequest = 80877102

// messageBytesMax bounds a message, as the server does.
const messageBytesMax = 1 << 30

// Message is one message on its way. It is the judge's until that returns.
type Message struct {
	Client  bool   // it comes from the client; else from the server
	Startup bool   // it is the client's first, which has no type
	Data    []byte // all of it, type and length included

	// Done is closed when the connection ends, and when the proxy does: a judge that waits, waits for it
	// as well.
	Done <-chan struct{}
}

// Type is the message's type byte; zero for the startup packet.
func (m *Message) Type() byte {
	if m.Startup {
		return 0
	}
	return m.Data[0]
}

// Body is what follows the type and the length.
func (m *Message) Body() []byte {
	if m.Startup {
		return m.Data[4:]
	}
	return m.Data[5:]
}

// Text is the string that the body begins with, and what comes after its zero byte. In a query, a prepared
// statement and a command's completion that is what a person would read.
func Text(body []byte) (text string, rest []byte) {
	i := bytes.IndexByte(body, 0)
	if i < 0 {
		return string(body), nil
	}
	return string(body[:i]), body[i+1:]
}

// NewMessage makes a message of a type, as it is sent.
func NewMessage(kind byte, body []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(body)+4)), body...)
}

// End is what becomes of the connection of a message.
type End int

// The ends.
const (
	Stay  End = iota // the connection lives
	Close            // both sides see it closed in an orderly way
	Reset            // the client sees it reset
)

// Verdict is what is done about a message. The zero value loses it.
type Verdict struct {
	Deliver bool  // it is passed on
	Slice   int   // in pieces of so many bytes; zero: whole
	End     End   // after that
	Hold    *Hold // of a client's message: instead of all that, see there
}

// Hold has a message, and what the client had sent behind it, delivered when the client has long gone.
type Hold struct {
	Release <-chan struct{} // closed to deliver it
	Passed  chan<- error    // has a place; gets nil when the server has answered and closed
}

// readMessage reads one message, whole.
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

// send writes a message, in pieces if it is to be so.
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
