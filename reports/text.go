package reports

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"pulley/internal/aligned"
	"pulley/reports/record"
	"pulley/reports/units"
)

// pictureColumns is the width of a picture of characters, which fits a narrow terminal.
const pictureColumns = 100

// WriteText writes the report as tables for a terminal: the picture of throughput, then the page's rows and ratios, without
// colours, some 160 columns wide. The manifest may be nil.
func WriteText(w io.Writer, s *record.Summary, m *record.Manifest) error {
	v := newView(s, m)
	var b bytes.Buffer
	state, _ := v.state()
	fmt.Fprintf(&b, "%s\n%s\n%s\n", units.Printable(v.answer()), units.Printable(state), units.Printable(strings.Join(v.facts(), " · ")))
	if c := v.throughputChart(); c != nil {
		b.WriteByte('\n')
		c.WriteText(&b, pictureColumns)
	}
	for i := range v.families {
		v.writeFamily(&b, &v.families[i])
	}
	v.writeCeilings(&b)
	v.writeStages(&b)
	v.writeClaims(&b)
	v.writeWarnings(&b)
	for _, note := range v.summary.Notes {
		fmt.Fprintf(&b, "\nNote: %s\n", units.Printable(note))
	}
	if _, err := b.WriteTo(w); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// writeFamily adds a column of multiples after time and rows if there is another backend.
func (v *view) writeFamily(b *bytes.Buffer, f *family) {
	compared := len(v.backends) > 1
	t := columns{left: map[int]bool{2: true}}
	head := []string{"size", "nodes", "backend", "runs", "nodes/s", "[lo, hi]"}
	if v.held() {
		head = append(head, "/ceiling")
	}
	if compared {
		head = append(head, "time ×")
	}
	head = append(head, "hop p50", "hop p99", "inst. p50", "rows")
	if compared {
		head = append(head, "rows ×")
	}
	t.add(append(head, "stmts", "commits", "WAL", "HOT", "row waits", "")...)
	for _, r := range f.rows {
		t.add(v.textRow(f, r, compared)...)
	}
	fmt.Fprintf(b, "\n%s   (rows read, statements, commits and WAL per node", units.Printable(f.name()))
	if compared {
		fmt.Fprintf(b, "; × = multiples of %s", units.Printable(v.baseline))
		if len(v.summary.Differences) > 0 {
			fmt.Fprintf(b, ", %s = no difference shown, %s 2.00× = too few runs to show it", unclear, unclear)
		}
	}
	if v.held() {
		b.WriteString("; /ceiling = part of what raw SQL did, see below")
	}
	b.WriteString(")\n")
	t.write(b)
}

func (v *view) textRow(f *family, r *record.Row, compared bool) []string {
	rate, interval := units.Missing, ""
	if s := r.NodesPerS; s != nil {
		rate, interval = units.Number(s.Median), "["+units.Number(s.Lo)+", "+units.Number(s.Hi)+"]"
	}
	cells := []string{units.Thousands(int64(r.Size)), units.Thousands(int64(r.Nodes)), r.Backend, units.Thousands(int64(r.Runs)), rate, interval}
	if v.held() {
		fraction := units.Missing
		if r.CeilingFraction != nil {
			fraction = units.Percent(*r.CeilingFraction)
		}
		cells = append(cells, fraction)
	}
	if compared {
		cells = append(cells, v.textRatio(f, r, timeCost))
	}
	hop50, hop99, instance := units.Missing, units.Missing, units.Missing
	if r.HopNS != nil {
		hop50, hop99 = units.Duration(float64(r.HopNS.P50)), units.Duration(float64(r.HopNS.P99))
	}
	if r.InstanceNS != nil {
		instance = units.Duration(float64(r.InstanceNS.P50))
	}
	cells = append(cells, hop50, hop99, instance, units.Optional(r.RowsReadPerNode))
	if compared {
		cells = append(cells, v.textRatio(f, r, rowsRead))
	}
	wal := units.Missing
	if r.WALBytesPerNode != nil {
		wal = units.Bytes(*r.WALBytesPerNode)
	}
	hot, waits := units.Missing, units.Missing
	if r.HOTShare != nil {
		hot = units.Percent(*r.HOTShare)
	}
	if r.LockWaitShare != nil {
		waits = units.Percent(*r.LockWaitShare)
	}
	mark := ""
	if !r.Valid {
		mark = "INVALID"
	}
	return append(cells, units.Optional(r.StatementsPerNode), units.Optional(r.CommitsPerNode), wal, hot, waits, mark)
}

// textRatio gives the baseline 1.00×, which the page omits.
func (v *view) textRatio(f *family, r *record.Row, c cost) string {
	if x := v.ratio(f, r, c); x != nil {
		return x.short()
	}
	if r.Backend == v.baseline && r.Valid && c.row(r) != nil {
		return units.Times(1)
	}
	return units.Missing
}

func (v *view) writeClaims(b *bytes.Buffer) {
	if len(v.summary.Claims) == 0 {
		return
	}
	t := columns{left: map[int]bool{0: true}}
	t.add("claim", "claimed", "measured", "[lo, hi]")
	for _, c := range v.summary.Claims {
		measured, interval := units.Missing, ""
		if c.Measured != nil {
			measured = claimFormat(c.Unit)(*c.Measured)
		}
		if c.Lo != nil && c.Hi != nil {
			interval = "[" + units.Number(*c.Lo) + ", " + units.Number(*c.Hi) + "]"
		}
		t.add(c.Name, claimedText(c), measured, interval)
	}
	b.WriteString("\nPublished claims beside what was measured\n")
	t.write(b)
}

func (v *view) writeWarnings(b *bytes.Buffer) {
	list := v.warnings()
	if len(list) == 0 {
		return
	}
	b.WriteString("\nWarnings\n")
	for _, w := range list {
		fmt.Fprintf(b, "  - %s", units.Printable(w.Text))
		if where := w.Where(); where != "" {
			fmt.Fprintf(b, " (%s)", units.Printable(where))
		}
		b.WriteByte('\n')
	}
}

// columns is flush right, except for left.
type columns struct {
	rows [][]string
	left map[int]bool
}

func (g *columns) add(cells ...string) {
	for i := range cells {
		cells[i] = units.Printable(cells[i])
	}
	g.rows = append(g.rows, cells)
}

func (g *columns) write(b *bytes.Buffer) {
	aligned.Write(b, g.rows, func(i int) bool { return g.left[i] })
}
