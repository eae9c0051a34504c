package scenarios

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"pulley/engine/ir"
	"pulley/internal/nearest"
	"pulley/internal/yamlfile"
	"pulley/scenarios/behaviour"
	"pulley/scenarios/dist"
	"pulley/scenarios/template"
	"pulley/scenarios/wfformat"
)

func (d *decoder) readActions() {
	v := d.raw.actions
	if v == nil {
		return
	}
	for _, f := range d.Map(v, "actions") {
		name := strings.TrimPrefix(f.Name, "@")
		first, twice := d.actionsAt[name]
		switch {
		case slices.ContainsFunc(strings.Split(name, "."), func(part string) bool { return !identifier.MatchString(part) }):
			d.Add(f.Pos, "%q is no name of an action; write letters, digits, _ and single dots, as in mail.send", f.Name)
		case twice:
			d.Add(f.Pos, "action %s is described twice, and on line %d first; take one out", name, first.Line)
		default:
			d.readAction(name, f)
		}
	}
}

func (d *decoder) readAction(name string, f yamlfile.Field) {
	a := behaviour.Description{Name: name}
	builtin := behaviour.Builtin(name)
	ownOnly := func(what string, v *yamlfile.Value, read func()) {
		if builtin {
			d.Add(v.Pos, "@%s is built in, and gives what it gives; leave %s out, or describe an action of another name", name, what)
			return
		}
		read()
	}
	keys := []yamlfile.Key{
		{Name: "service", Read: func(v *yamlfile.Value) { a.Service = d.law(v, "service", dist.Durations) }},
		{Name: "fails", Read: func(v *yamlfile.Value) { a.Fails = d.failures(v) }},
		{Name: "gives", Read: func(v *yamlfile.Value) {
			ownOnly("gives", v, func() { a.Gives = template.Compile(v, nil, d.Report) })
		}},
		{Name: "payload", Read: func(v *yamlfile.Value) {
			ownOnly("payload", v, func() { a.Payload = d.law(v, "payload", dist.Bytes) })
		}},
	}
	if f.Value.IsNull() || d.Fields(f.Value, "action "+name, keys...) { // an action without a description returns a number made of its arguments
		d.actions = append(d.actions, a)
		d.actionsAt[name] = f.Pos
	}
}

func (d *decoder) failures(v *yamlfile.Value) []behaviour.Failure {
	var list []behaviour.Failure
	sum := 0.0
	for _, item := range d.List(v) {
		f := behaviour.Failure{Share: -1, Type: "Error", Message: "it fails by chance"}
		ok := d.Fields(item, "fails",
			yamlfile.Key{Name: "share", Read: func(v *yamlfile.Value) { f.Share, _ = d.share(v, "share") }},
			yamlfile.Key{Name: "type", Read: func(v *yamlfile.Value) { f.Type = d.errorType(v) }},
			yamlfile.Key{Name: "message", Read: func(v *yamlfile.Value) { f.Message, _ = d.Text(v, "message") }},
		)
		switch {
		case !ok:
		case f.Share < 0:
			d.Add(item.Pos, "fails needs a share; write how many of a hundred attempts fail, as in share: 1%%")
		default:
			sum += f.Share
			list = append(list, f)
		}
	}
	if sum > 1+1e-9 {
		d.Add(v.Pos, "the shares of failures add up to %.6g %%, which is more than all attempts", 100*sum)
	}
	return list
}

// retry and except can name an errorType.
func (d *decoder) errorType(v *yamlfile.Value) string {
	text, ok := d.Line(v, "type")
	if ok && !identifier.MatchString(text) {
		d.Add(v.Pos, "type is %q, which no except could name; write letters, digits and _", text)
	}
	return text
}

// A share is 1% or 0.01.
func (d *decoder) share(v *yamlfile.Value, what string) (float64, bool) {
	text, _ := v.Scalar()
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	f, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		f /= 100
	}
	if err != nil || !(f >= 0) || f > 1 {
		d.Add(v.Pos, "%s is a part of all, from 0%% to 100%%, as in 1%% or 0.01", what)
		return 0, false
	}
	return f, true
}

func (d *decoder) samples(unit dist.Unit) dist.Samples {
	return func(name string) ([]int64, error) {
		file := alongside(d.file, name)
		if strings.HasSuffix(file, ".json") {
			if unit != dist.Durations {
				return nil, ir.Errorf(ir.Pos{}, "a trace has run times only")
			}
			t, err := d.readTrace(file)
			if err != nil {
				return nil, err
			}
			return runTimes(t), nil
		}
		data, err := d.files.read(file, samplesBytesMax)
		if err != nil {
			return nil, err
		}
		return numbersIn(d.files.display(file), string(data), unit)
	}
}

func runTimes(t *wfformat.Trace) []int64 {
	var list []int64
	for i := range t.Tasks {
		list = append(list, int64(math.Round(t.Tasks[i].RuntimeSeconds*float64(time.Second))))
	}
	return list
}

// numbersIn reads one number per line, in the form of a constant. It skips empty lines and those that begin with #.
func numbersIn(file, text string, unit dist.Unit) ([]int64, error) {
	var list []int64
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		law, err := dist.Parse("const:"+line, unit, nil)
		if err != nil {
			return nil, ir.Errorf(ir.Pos{File: file, Line: n, Col: 1}, "%s", err)
		}
		list = append(list, int64(law.Mean()))
	}
	return list, nil
}

func didYouMean(word string, known []string) string {
	if near := nearest.Word(strings.ToLower(word), known); near != "" {
		return "did you mean " + near + "?"
	}
	return "there are " + strings.Join(known, ", ")
}
