package pgdial

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// namesMax bounds the names that one connection prepares: it is beyond what the designs have, and what a pooler would keep.
const namesMax = 1000

// noStatement is the error of a prepared statement that does not exist.
const noStatement = "26000"

// namesKey is where a connection keeps the names that it has prepared.
const namesKey = "pulley prepared"

// sending is one round trip under way: requests, and what is expected in reply.
type sending struct {
	conn     *pgx.Conn
	from     *Transactions
	line     *pgconn.Pipeline
	names    map[string]bool
	begun    bool // the transaction has its settings
	expected []reply
	builder  pgx.ExtendedQueryBuilder
}

// reply is what is expected for a request.
type reply struct {
	asked bool   // the caller reads it
	names string // the name that the request prepares; may be empty
}

func (c *Conn) start(ctx context.Context) *sending {
	conn := c.pooled.Conn()
	data := conn.PgConn().CustomData()
	names, ok := data[namesKey].(map[string]bool)
	if !ok {
		names = map[string]bool{}
		data[namesKey] = names
	}
	return &sending{
		conn: conn, from: c.from, names: names, begun: conn.PgConn().TxStatus() != 'I', line: conn.PgConn().StartPipeline(ctx),
	}
}

// set makes the settings for the transaction.
func (s *sending) set() {
	s.begun = true
	s.execute(s.from.settings, false, nil, nil, nil, nil)
}

// execute sends a statement, and prepares it before if that is worth it.
func (s *sending) execute(st statement, asked bool, values [][]byte, oids []uint32, formats, results []int16) {
	if st.name == "" || !s.names[st.name] && len(s.names) >= namesMax {
		s.line.SendQueryParams(st.text, values, oids, formats, results)
	} else {
		if !s.names[st.name] {
			s.prepare(st, false)
		}
		s.line.SendQueryPrepared(st.name, values, formats, results)
	}
	s.expected = append(s.expected, reply{asked: asked})
}

// prepare prepares a statement, under its name if it has one.
func (s *sending) prepare(st statement, asked bool) {
	s.line.SendPrepare(st.name, st.text, nil)
	s.expected = append(s.expected, reply{asked, st.name})
}

// describe prepares a statement for its description, without a name if that is taken.
func (s *sending) describe(st statement) {
	if s.names[st.name] || len(s.names) >= namesMax {
		st.name = ""
	}
	s.prepare(st, true)
}

// begin begins a transaction.
const begin = "BEGIN"

// ends are the statements that end a transaction.
var ends = map[string]bool{"COMMIT": true, "ROLLBACK": true}

// plain describes statements without parameters and results, about which no server is asked.
var plain = &pgconn.StatementDescription{}

// control returns the description of a statement that begins or ends a transaction; nil for others.
func control(sql string) *pgconn.StatementDescription {
	if sql == begin || ends[sql] {
		return plain
	}
	return nil
}

// before makes the settings before a statement that needs them.
func (s *sending) before(sql string) {
	if !s.begun && control(sql) == nil {
		s.set()
	}
}

// after makes the settings for a transaction that a statement has begun.
func (s *sending) after(sql string) {
	if sql == begin {
		s.set()
	} else if ends[sql] {
		s.begun = false
	}
}

// add sends a query that is described.
func (s *sending) add(q *pgx.QueuedQuery, d *pgconn.StatementDescription) error {
	s.before(q.SQL)
	if err := s.builder.Build(s.conn.TypeMap(), d, q.Arguments); err != nil {
		return fmt.Errorf("a parameter does not fit its statement: %w", err)
	}
	s.execute(s.from.statement(q.SQL), true, s.builder.ParamValues, d.ParamOIDs, s.builder.ParamFormats, s.builder.ResultFormats)
	s.after(q.SQL)
	return nil
}

// binary is the format of all parameters and results of addBinary.
var binary = []int16{pgx.BinaryFormatCode}

func (s *sending) addBinary(sql string, params [][]byte) {
	s.before(sql)
	s.execute(s.from.statement(sql), true, params, nil, binary, binary)
}

// withdraw ends a round trip before anything is sent, with the connection.
func (s *sending) withdraw() {
	_ = s.line.Close() // it says that requests are left
	_ = s.conn.Close(context.Background())
}

// next returns the next reply that the caller reads, and checks those before it.
func (s *sending) next() (any, error) {
	for len(s.expected) > 0 {
		r := s.expected[0]
		s.expected = s.expected[1:]
		got, err := s.line.GetResults()
		switch {
		case err != nil:
			if server, ok := errors.AsType[*pgconn.PgError](err); ok && server.Code == noStatement {
				clear(s.names) // the pooler has forgotten them
			}
			return nil, err
		case got == nil:
			return nil, errors.New("the server has left out a reply")
		}
		if r.names != "" {
			s.names[r.names] = true
		}
		if r.asked {
			return got, nil
		}
		if reader, ok := got.(*pgconn.ResultReader); ok {
			if _, err := reader.Close(); err != nil {
				return nil, err
			}
		}
	}
	return nil, errors.New("all replies were read")
}

// nextOf is next for a reply of a known type.
func nextOf[T any](s *sending) (of T, err error) {
	got, err := s.next()
	if err != nil {
		return of, err
	}
	of, ok := got.(T)
	if !ok {
		return of, fmt.Errorf("the server has sent %T, not %T", got, of)
	}
	return of, nil
}
