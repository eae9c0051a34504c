package reporting

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"pulley/cmd/pulley/console"
	"pulley/internal/cause"
	"pulley/reports"
	"pulley/reports/page"
	"pulley/reports/record"
)

// ReportCmd is pulley report.
type ReportCmd struct {
	Records  []string `arg:"" name:"dir" placeholder:"DIR" help:"Folders that commands wrote with --out; with --extract, one page."`
	Baseline string   `placeholder:"DIR" help:"Set each DIR beside this record: what changed, whether that is shown, and how latencies shift. Both are records of pulley compare."`
	Out      string   `placeholder:"FILE" help:"Write the page to FILE, whole or not at all. Text and Markdown go to standard output without it."`
	Charts   string   `placeholder:"DIR" help:"Write every chart into DIR, as SVG and PNG."`
	Format   string   `enum:"html,text,markdown" default:"html" help:"html: a page that opens offline and carries the record; text: for a terminal; markdown: for a pull request or a job's summary. Default: html."`
	Extract  string   `placeholder:"FOLDER" help:"Write the record that a page carries into FOLDER, byte for byte. Nothing that is there is overwritten."`
}

// Help completes the command's help.
func (ReportCmd) Help() string {
	return "What a folder holds is found by its files: records of compare, bench, knee, gate, history, chaos, sim and forecast. Those commands write report.html beside " +
		"their records themselves; this command makes it again, in another form, of several records on one page, or beside a baseline. " +
		"The decision beside a baseline is that of pulley gate without flags.\n\n" +
		"Exit status: 0 if the page is written, whatever it says; 2 for a mistake in the command line, or a folder without a record.\n\nExamples:\n\n" +
		"  pulley report out/compare --out report.html --charts charts\n" +
		"  pulley report out/compare out/chaos out/sim --out all.html\n" +
		"  pulley report out/today --baseline out/yesterday --format markdown\n" +
		"  pulley report out/bench --format text\n" +
		"  pulley report --extract out/again report.html"
}

// Run writes the page, or the record that one carries.
func (o *ReportCmd) Run(c *console.Console) error {
	if o.Extract != "" {
		return o.extract(c)
	}
	if o.Format == "html" && o.Out == "" && o.Charts == "" {
		return errors.New("a page goes into a file: add --out report.html, or --format text")
	}
	p, err := o.page()
	if err != nil {
		return err
	}
	if o.Charts != "" {
		if err := o.charts(c, p); err != nil {
			return err
		}
	}
	return o.write(c, p)
}

func (o *ReportCmd) page() (*page.Page, error) {
	var parts []page.Part
	for _, dir := range o.Records {
		var p *page.Page
		var err error
		if o.Baseline != "" {
			p, err = reports.Beside(dir, o.Baseline)
		} else {
			p, err = reports.Open(dir)
		}
		if err != nil {
			return nil, err
		}
		parts = append(parts, page.Part{Name: dir, Page: p})
	}
	return page.Join(parts), nil
}

func (o *ReportCmd) write(c *console.Console, p *page.Page) error {
	write := map[string]func(io.Writer) error{"html": p.WriteHTML, "text": p.WriteText, "markdown": p.WriteMarkdown}[o.Format]
	switch {
	case o.Out != "":
		if err := record.WriteFile(o.Out, write); err != nil {
			return err
		}
		c.Say("report: %s", o.Out)
	case o.Format != "html":
		return c.Show(write)
	}
	return nil
}

// charts draws all before it writes the first.
func (o *ReportCmd) charts(c *console.Console, p *page.Page) error {
	type file struct {
		name string
		data bytes.Buffer
	}
	var files []*file
	taken := map[string]int{}
	for _, chart := range p.Charts() {
		name := chart.Name
		if taken[name]++; taken[name] > 1 {
			name = fmt.Sprintf("%s-%d", name, taken[name])
		}
		for _, format := range []string{"svg", "png"} {
			f := &file{name: name + "." + format}
			if err := chart.Write(&f.data, format); err != nil {
				return fmt.Errorf("drawing %s: %w", f.name, err)
			}
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		c.Say("there is no chart in it")
		return nil
	}
	for _, f := range files {
		err := record.WriteFile(filepath.Join(o.Charts, f.name), func(w io.Writer) error {
			_, err := w.Write(f.data.Bytes())
			return err
		})
		if err != nil {
			return err
		}
	}
	c.Say("charts: %d in %s", len(files)/2, o.Charts)
	return nil
}

// pageMost bounds a page: a wrong path must not exhaust memory.
const pageMost = 1 << 28

func (o *ReportCmd) extract(c *console.Console) error {
	switch {
	case len(o.Records) != 1:
		return fmt.Errorf("--extract takes the record out of one page; there are %d", len(o.Records))
	case o.Out != "" || o.Charts != "" || o.Baseline != "" || o.Format != "html":
		return errors.New("--extract writes the record and nothing else; leave out --out, --charts, --baseline and --format")
	}
	data, err := readPage(o.Records[0])
	if err != nil {
		return err
	}
	files, err := page.Extract(data)
	if err != nil {
		return fmt.Errorf("%s: %w", o.Records[0], err)
	}
	if err := o.free(files); err != nil {
		return err
	}
	for _, f := range files {
		path := filepath.Join(o.Extract, filepath.FromSlash(f.Name))
		err := record.WriteFile(path, func(w io.Writer) error {
			_, err := w.Write(f.Data)
			return err
		})
		if err != nil {
			return err
		}
		c.Say("record: %s", path)
	}
	return nil
}

func readPage(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w; name the page that carries the record", path, cause.Of(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, pageMost+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, cause.Of(err))
	}
	if len(data) > pageMost {
		return nil, fmt.Errorf("read %s: it has more than %d bytes: no page of pulley has", path, pageMost)
	}
	return data, nil
}

// free reports, before the first file is written, what would be overwritten, and folders that are links to elsewhere.
func (o *ReportCmd) free(files []page.File) error {
	seen := map[string]bool{}
	for _, f := range files {
		path := filepath.Join(o.Extract, filepath.FromSlash(f.Name))
		if seen[path] {
			return fmt.Errorf("the page carries %s twice: it was changed", f.Name)
		}
		seen[path] = true
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("--extract %s: there is a %s already; choose another folder", o.Extract, f.Name)
		}
		if dir := filepath.Dir(path); dir != filepath.Clean(o.Extract) {
			if info, err := os.Lstat(dir); err == nil && !info.IsDir() {
				return fmt.Errorf("--extract %s: %s is no folder of its own; choose another folder", o.Extract, dir)
			}
		}
	}
	return nil
}
