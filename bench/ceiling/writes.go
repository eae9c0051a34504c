package ceiling

import (
	"context"
	"embed"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"pulley/bench/measure"
	"pulley/internal/pgstore"
	"pulley/reports/record"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

func query(name string) string { return measure.Statement(sqlFiles, name) }

// probeWay is timed but writes no completions.
const probeWay = "probe"

// ways have the design of their tables, whether a call carries several completions, and how to make a writer of a connection.
// Only writes to the push design's tables depend on the graph.
var ways = map[string]struct {
	design string
	groups bool
	make   func(s *stream) writer
}{
	record.CeilingStatements: {pushDesign, false, func(s *stream) writer { return &statements{s} }},
	record.CeilingCall:       {pushDesign, false, func(s *stream) writer { return &oneCall{stream: s} }},
	record.CeilingBatched:    {pushDesign, true, func(s *stream) writer { return &batched{stream: s} }},
	record.CeilingAppend:     {journalDesign, true, func(s *stream) writer { return &appended{stream: s} }},
	record.CeilingPacked:     {journalDesign, true, func(s *stream) writer { return &appended{stream: s, packs: true} }},
	record.CeilingCopy:       {journalDesign, true, func(s *stream) writer { return &copied{stream: s} }},
	probeWay:                 {pushDesign, false, func(s *stream) writer { return &probe{s} }},
	insertWay:                {pointsDesign, false, func(s *stream) writer { return &inserted{s} }},
}

const (
	element = 7     // node of all actions and of their aggregate, and variable of their values
	join    = 9     // first node with a counter
	epoch   = 12345 // every shard's

	// at least; twice what a call completes, if that is more
	minBatchDepth = 500
)

// payload is a value or an action's arguments: 64 bytes of JSON.
var payload = []byte(`{"payload":"0123456789abcdef0123456789abcdef0123456789abcdef01"}`)

// stream is one connection's endless sequence of instances: completions in order, each a run that an earlier one queued.
// Writers share it.
type stream struct {
	conn       *pgx.Conn
	shard      int16
	size       int64
	depth      int64
	next       int64
	known      map[string][]int // prepared statements, with the places of their parameters in args
	args       [][]byte         // a call's, reused
	parameters [][]byte         // the statement's
	modelled   instanceModel

	writes graphWrites
	names  [2][]byte
	turns  int
}

func open(ctx context.Context, s *scratch, p *point, shard int) (writer, error) {
	conn, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	st := &stream{conn: conn, shard: int16(shard), size: int64(p.batch), depth: 2 * int64(max(p.batch, minBatchDepth)), known: map[string][]int{}}
	st.modelled.nodes, st.writes = int64(p.nodes), graphWrites{p.writes}
	return ways[p.way].make(st), nil
}

func (s *stream) batch() int64 { return s.size }

func (s *stream) tally() tally {
	before := s.writes.before(s.next)
	return tally{
		completions: s.next, queued: s.depth, running: s.modelled.ahead(s.depth), ended: s.modelled.before(s.next),
		values: before.values.from, elements: before.elements.from, raises: before.raises.from,
	}
}

func (s *stream) close(ctx context.Context) { _ = s.conn.Close(ctx) }

func (s *stream) instance(n int64) uuid.UUID { return s.id(n / int64(s.writes.Nodes)) }

// instanceOf also holds if instances begin and end.
func (s *stream) instanceOf(n int64) uuid.UUID {
	if s.modelled.nodes == 0 {
		return s.instance(n)
	}
	return s.id(s.modelled.before(n))
}

// id is an instance's key, made as the engine's are: later ones are greater.
func (s *stream) id(k int64) (id uuid.UUID) {
	const began = 0x01a1fbf562b7
	binary.BigEndian.PutUint64(id[:8], uint64(began+k)<<16|0x7000)
	id[8] = 0x80
	binary.BigEndian.PutUint16(id[14:], uint16(s.shard))
	return id
}

// path's last two results are valid.
func (s *stream) path(n int64) []byte {
	s.turns++
	name := &s.names[s.turns%len(s.names)]
	*name = strconv.AppendInt((*name)[:0], n%int64(s.writes.Nodes), 10)
	return *name
}

func (s *stream) token(n int64) int64 { return n + 1 }

func (s *stream) fill(ctx context.Context) error {
	if err := s.bearFirst(ctx); err != nil {
		return err
	}
	var instances, paths, tokens array
	instances.begin(uuidType)
	paths.begin(textType)
	tokens.begin(bigintType)
	for n := range s.depth {
		id := s.instance(n)
		instances.raw(id[:])
		paths.raw(s.path(n))
		tokens.int64(s.token(n))
	}
	s.param(bigShort(s.shard), instances.bytes(), big32(element), paths.bytes(), tokens.bytes(), payload)
	return s.exec(ctx, "fill", s.depth)
}

// param sets the next call's parameters, by their numbers in the statement's file.
func (s *stream) param(args ...[]byte) { s.args = append(s.args[:0], args...) }

// exec executes a statement, prepared once, with the set parameters, and checks the number of affected rows.
func (s *stream) exec(ctx context.Context, name string, rows int64) error {
	if err := s.prepare(ctx, name); err != nil {
		return err
	}
	tag, err := s.conn.PgConn().ExecPrepared(ctx, name, s.parameters, binaryFormat, binaryFormat).Close()
	if err != nil {
		return err
	}
	return s.all(name, tag, rows)
}

func (s *stream) all(name string, tag pgconn.CommandTag, rows int64) error {
	if tag.RowsAffected() != rows {
		return fmt.Errorf("statement %s wrote %d rows instead of %d", name, tag.RowsAffected(), rows)
	}
	return nil
}

// exact executes a statement that returns one row of counts, each of which must be rows.
func (s *stream) exact(ctx context.Context, name string, rows int64) error {
	if err := s.prepare(ctx, name); err != nil {
		return err
	}
	got := s.conn.PgConn().ExecPrepared(ctx, name, s.parameters, binaryFormat, binaryFormat).Read()
	if got.Err != nil {
		return got.Err
	}
	if len(got.Rows) != 1 {
		return fmt.Errorf("statement %s answered with %d rows instead of one", name, len(got.Rows))
	}
	for i, v := range got.Rows[0] {
		if len(v) != 8 || int64(binary.BigEndian.Uint64(v)) != rows {
			return fmt.Errorf("statement %s: count %d is %x instead of %d", name, i+1, v, rows)
		}
	}
	return nil
}

// prepare prepares a statement once, and collects its parameters. Its name is that of its file, followed by a colon and the
// wanted parts, separated by commas.
func (s *stream) prepare(ctx context.Context, name string) error {
	parameters, ok := s.known[name]
	if !ok {
		file, list, _ := strings.Cut(name, ":")
		parts := strings.Split(list, ",")
		var sql string
		sql, parameters = pgstore.CutDown(query(file), func(part string) bool { return slices.Contains(parts, part) })
		if _, err := s.conn.PgConn().Prepare(ctx, name, sql, nil); err != nil {
			return err
		}
		s.known[name] = parameters
	}
	s.parameters = s.parameters[:0]
	for _, i := range parameters {
		s.parameters = append(s.parameters, s.args[i])
	}
	return nil
}

var binaryFormat = []int16{1}

func big64(v int64) []byte    { return binary.BigEndian.AppendUint64(nil, uint64(v)) }
func big32(v int32) []byte    { return binary.BigEndian.AppendUint32(nil, uint32(v)) }
func bigShort(v int16) []byte { return binary.BigEndian.AppendUint16(nil, uint16(v)) }
