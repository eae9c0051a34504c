package claim

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

const textWidth = 110

// WriteText writes claims for people, with the list of verdicts at the end, where one looks.
func WriteText(w io.Writer, list []Claim) error {
	var b strings.Builder
	for _, c := range list {
		fmt.Fprintf(&b, "%s: %s\n", c.ID, c.Verdict)
		field(&b, "claim", c.Text)
		field(&b, "source", c.Source)
		c.Published.write(&b)
		field(&b, "method", c.Method)
		for _, f := range c.Figures {
			field(&b, "measured", f.Line())
		}
		if c.Why != "" {
			field(&b, "why", c.Why)
		}
		field(&b, "again", c.Command)
		b.WriteString("\n")
	}
	for _, c := range list {
		fmt.Fprintf(&b, "%-13s  %-18s  %s\n", c.Verdict, c.ID, c.Text)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// write says what a figure of others was measured on.
func (p *Published) write(b *strings.Builder) {
	if p == nil {
		return
	}
	field(b, "date", p.Date)
	field(b, "shape", p.Shape)
	field(b, "there", p.Hardware)
	field(b, "commits", p.Durability)
}

// Line is the figure in words: measured, claimed, and the verdict.
func (f Figure) Line() string {
	var got string
	switch {
	case f.Median == nil:
		got = "not measured: " + f.Note
	case f.Runs == 1 || *f.Lo == *f.Hi:
		got = fmt.Sprintf("%s %s (%s)", Number(*f.Median), f.Unit, runs(f.Runs))
	default:
		got = fmt.Sprintf("%s %s (%s … %s, %s)", Number(*f.Median), f.Unit, Number(*f.Lo), Number(*f.Hi), runs(f.Runs))
	}
	if f.Note != "" && f.Median != nil {
		got += ", " + f.Note
	}
	if f.Bound == Alongside {
		return f.Name + ": " + got
	}
	return fmt.Sprintf("%s: %s; claimed %s: %s", f.Name, got, f.Wanted(), f.Verdict)
}

func runs(n int) string {
	if n == 1 {
		return "1 run"
	}
	return fmt.Sprintf("%d runs", n)
}

func field(b *strings.Builder, name, text string) {
	const indent = 12
	fmt.Fprintf(b, "  %-*s", indent-2, name)
	column := indent
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+n > textWidth:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			column = indent
		default:
			b.WriteString(" ")
			column++
		}
		b.WriteString(word)
		column += n
	}
	b.WriteString("\n")
}
