package check_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"pulley/adapter/protocol"
)

// adapter is a good adapter, whose system is a folder (store_test.go). A mistake, by its name, makes it a wrong one.
type adapter struct {
	mistake string

	writing   sync.Mutex
	store     *store
	settings  map[string]string
	workloads map[string]*protocol.Workload
	process   int
	slots     int
	ends      bool // report ends only
	begun     int64
	executed  int // guarded by writing
	over      chan struct{}
	work      sync.WaitGroup
}

func (a *adapter) has(mistake string) bool { return a.mistake == mistake }

// text returns wrong if the adapter has the mistake, and else right.
func choose[T any](a *adapter, mistake string, wrong, right T) T {
	if a.has(mistake) {
		return wrong
	}
	return right
}

func (a *adapter) write(r protocol.Response) {
	line, err := r.Line()
	if err != nil {
		panic(err)
	}
	text := string(line)
	switch {
	case a.has("key last") && strings.HasPrefix(text, `{"pulley":"submitted",`):
		text = strings.Replace(text, `{"pulley":"submitted",`, "{", 1)
		text = strings.TrimSuffix(text, "}\n") + `,"pulley":"submitted"}` + "\n"
	case a.has("unreadable") && r.Kind == protocol.KindEnded:
		text = text[:len(text)-2] + "\n"
	case a.has("another spelling") && r.Kind == protocol.KindFinished:
		text = strings.Replace(text, `{"pulley":"finished",`, `{"pulley":  "finished", "at": 1.0, `, 1)
	case a.has("other kind"):
		text = strings.Replace(text, `"pulley":"ended"`, `"pulley":"completed"`, 1)
	}
	a.writing.Lock()
	defer a.writing.Unlock()
	_, _ = os.Stdout.WriteString(text)
}

func (a *adapter) hello() *protocol.Hello {
	h := &protocol.Hello{
		Version: choose(a, "version", 2, 1), Name: "test", System: "a folder", SystemVersion: "1",
		Promises: protocol.Promises{
			Submit: protocol.Durable, Resubmit: protocol.Once, Execution: choose(a, "promise word", "exactly-once", protocol.AtLeastOnce), Results: protocol.Once,
			Order: protocol.InOrder, Attempts: 5, RecoversMS: 100,
		},
		Shapes:   []protocol.Shape{protocol.ShapeSingle, protocol.ShapeGraph, protocol.ShapeRepeat, protocol.ShapeRetries},
		Settings: []protocol.Setting{{Name: "poll_ms", Default: "20"}, {Name: "color", Default: "red"}},
	}
	switch a.mistake {
	case "at most once":
		h.Promises.Execution = protocol.AtMostOnce
	case "settings twice":
		h.Settings[1].Name = "poll_ms"
	case "single only":
		h.Shapes, h.Settings, h.Promises = []protocol.Shape{protocol.ShapeSingle}, h.Settings[1:], protocol.Promises{}
	}
	return h
}

// runAdapter is the adapter's main function.
func runAdapter(mistake string) int {
	a := &adapter{mistake: mistake, begun: time.Now().UnixNano(), over: make(chan struct{})}
	if a.has("crash") {
		fmt.Fprintln(os.Stderr, "no license")
		return 1
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			break
		}
		if a.has("pieces dropped") && in.Buffered() > 0 {
			_, _ = in.Discard(in.Buffered())
		}
		r, err := protocol.ParseRequest(line)
		if err != nil {
			continue
		}
		if r.Kind == protocol.KindStop {
			if a.has("stop fails") {
				return 3
			}
			a.finish()
			return 0
		}
		if code := a.take(&r); code >= 0 {
			return code
		}
	}
	if a.has("end ignored") {
		select {}
	}
	a.finish()
	return 0
}

// take takes a request; an exit status of 0 or more ends the process.
func (a *adapter) take(r *protocol.Request) int {
	switch r.Kind {
	case protocol.KindHello:
		if a.has("prints") {
			fmt.Println("starting")
		}
		if !a.has("no hello") {
			a.write(protocol.Response{Kind: protocol.KindHello, Hello: a.hello()})
		}
	case protocol.KindSetup:
		return a.setup(r)
	case protocol.KindOpen:
		a.process, a.slots, a.ends = r.Process, choose(a, "one at a time", 1, r.Slots+choose(a, "too many", 1, 0)), r.Report == protocol.ReportEnds
		if a.has("report ends") {
			a.ends = false
		}
		a.work.Go(a.loop)
		a.write(protocol.Response{Kind: protocol.KindReady})
	case protocol.KindSubmit:
		a.submit(r)
	case protocol.KindLook:
		a.look(r)
	default:
		if a.has("later dies") {
			panic("unknown kind " + string(r.Kind))
		}
	}
	return -1
}

func (a *adapter) setup(r *protocol.Request) int {
	a.settings = r.Settings
	if _, err := strconv.Atoi(r.Settings["poll_ms"]); err != nil && r.Settings["poll_ms"] != "" && !a.has("settings taken") {
		fmt.Fprintln(os.Stderr, "setting poll_ms: write a whole number")
		return 2
	}
	if err := reach(r.Store.DSN); err != nil && !a.has("no database") {
		if a.has("trace") {
			panic(err)
		}
		a.write(protocol.Response{Kind: protocol.KindError, Message: choose(a, "lines", "no database:\n", "") + err.Error()})
		return -1
	}
	a.workloads = map[string]*protocol.Workload{}
	for _, w := range r.Workloads {
		a.workloads[w.Name] = &w
	}
	var err error
	if a.store, err = openStore(r.Store.Dir, r.Create); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	if a.has("one process") && !r.Create {
		if f, err := os.OpenFile(r.Store.Dir+"/only", os.O_CREATE|os.O_EXCL, 0o600); err != nil {
			fmt.Fprintln(os.Stderr, "another process works here")
			return 1
		} else {
			_ = f.Close()
		}
	}
	a.write(protocol.Response{Kind: protocol.KindReady})
	return -1
}

// reach connects to a database, without speaking to it.
func reach(dsn string) error {
	if dsn == "" {
		return nil
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return err
	}
	conn, err := net.Dial("tcp", u.Host)
	if err == nil {
		_ = conn.Close()
	}
	return err
}

func (a *adapter) submit(r *protocol.Request) {
	for _, i := range r.Instances {
		a.store.change(func(s *store) {
			if s.read(i.ID) == nil || a.has("resubmission") {
				s.save(&record{ID: i.ID, Workload: i.Workload, Number: s.next(), Tasks: map[string]*taskRecord{}, Status: protocol.Open})
			}
		})
	}
	if !a.has("no submitted") {
		a.write(protocol.Response{Kind: protocol.KindSubmitted, Batch: r.Batch + choose[int64](a, "other batch", 100, 0)})
	}
}

func (a *adapter) look(r *protocol.Request) {
	var states []protocol.State
	for _, id := range r.IDs {
		i := a.store.get(id)
		s := protocol.State{ID: id, Status: protocol.Unknown}
		if i != nil {
			s.Status, s.Value, s.Message = i.Status, a.store.text(i.Value), i.Message
			if a.has("look trims") {
				s.Value = strings.TrimSpace(s.Value)
			}
		}
		if i == nil && a.has("unknown left out") {
			continue
		}
		if i == nil && a.has("unknown is open") || i != nil && a.has("look is open") {
			s.Status, s.Value = protocol.Open, ""
		}
		states = append(states, s)
	}
	a.write(protocol.Response{Kind: protocol.KindStates, Batch: r.Batch, States: states})
}

// finish lets tasks at work end.
func (a *adapter) finish() {
	if a.store == nil {
		return
	}
	if a.has("stop hangs") && a.slots > 0 {
		select {}
	}
	close(a.over)
	if !a.has("stop drops") {
		a.work.Wait()
	}
}

// loop executes tasks.
func (a *adapter) loop() {
	free := make(chan struct{}, a.slots)
	poll, _ := strconv.Atoi(a.settings["poll_ms"])
	for {
		select {
		case free <- struct{}{}:
		case <-a.over:
			return
		}
		i, k := a.store.claim(a.workloads, choose(a, "order", true, false), choose(a, "never recovers", false, true))
		if i == nil {
			<-free
			select {
			case <-time.After(max(1, time.Duration(poll)) * time.Millisecond):
			case <-a.over:
				return
			}
			continue
		}
		a.work.Go(func() {
			defer func() { <-free }()
			a.execute(i, k)
		})
	}
}

// report writes what happens to a task.
func (a *adapter) report(kind protocol.Kind, i *record, k key, more protocol.Response) {
	if a.ends {
		return
	}
	more.Kind, more.Instance, more.Task, more.Attempt = kind, i.ID, k.Task, i.Tasks[k.String()].Attempt
	if a.workloads[i.Workload].Repeat > 1 && !a.has("no round") {
		more.Round = k.Round
	}
	if a.has("attempt is 1") {
		more.Attempt = 1
	}
	a.write(more)
}

func (a *adapter) execute(i *record, k key) {
	w := a.workloads[i.Workload]
	t := w.Task(k.Task)
	inputs := map[string]string{}
	for name, from := range k.inputs(w) {
		inputs[name] = a.store.text(i.Tasks[from.String()].Value)
	}
	shown := inputs
	switch {
	case a.has("no inputs"):
		shown = nil
	case a.has("own inputs") && len(inputs) > 0:
		shown = map[string]string{}
		for name, value := range inputs {
			shown[name] = strings.TrimSpace(value) + "x"
		}
	case a.has("two results") && i.Workload == "diamond" && k.Task == "b":
		shown = map[string]string{"a": inputs["a"] + "x"}
	case a.has("no last round"):
		shown = map[string]string{}
		for name, value := range inputs {
			if name != protocol.Previous {
				shown[name] = value
			}
		}
	}
	if !a.has("not started") {
		a.report(protocol.KindStarted, i, k, protocol.Response{Inputs: shown})
	}
	if !a.has("no sleep") {
		time.Sleep(time.Duration(t.MS * float64(time.Millisecond)))
	}
	attempt := i.Tasks[k.String()].Attempt
	if attempt <= t.Fails && !a.has("never fails") || a.has("fails") && k.Task == "d" {
		a.report(protocol.KindFailed, i, k, protocol.Response{Message: "as it should"})
		a.complete(i, k, "")
		return
	}
	value, err := protocol.Compute(t, inputs, a.token())
	if err != nil {
		panic(err)
	}
	if a.has("wrong sum") || a.has("another spelling") {
		value = "9" + value
	}
	if a.has("no bytes") {
		value = strings.TrimSpace(value)
	}
	if !a.has("not finished") || k.Task != "b" {
		a.report(protocol.KindFinished, i, k, protocol.Response{Value: value})
	}
	if a.has("two results") && i.Workload == "diamond" && k.Task == "a" {
		a.report(protocol.KindStarted, i, k, protocol.Response{})
		a.report(protocol.KindFinished, i, k, protocol.Response{Value: value + "x"})
	}
	a.complete(i, k, value)
}

func (a *adapter) token() string {
	a.writing.Lock()
	defer a.writing.Unlock()
	a.executed++
	switch a.mistake {
	case "no token":
		return ""
	case "same token":
		return fmt.Sprintf("%d", a.process)
	}
	return fmt.Sprintf("%d.%d.%d", a.process, a.begun, a.executed)
}

// complete stores the end of an execution, and reports the instance's.
func (a *adapter) complete(claimed *record, k key, value string) {
	var ended *record
	a.store.change(func(s *store) {
		i := s.read(claimed.ID)
		t := i.Tasks[k.String()]
		if i.Status != protocol.Open || t == nil || t.Done {
			return // another execution was faster
		}
		w := a.workloads[i.Workload]
		t.Owner = ""
		switch {
		case value != "":
			t.Done, t.Value = true, s.keep(i, k, choose(a, "large cut", value[:min(len(value), 1000)], value))
			if k == last(w) {
				i.Status, i.Value = protocol.Completed, t.Value
			}
		case t.Attempt >= 5:
			i.Status, i.Message = protocol.Failed, "as it should"
		}
		if i.Status == protocol.Completed && !i.complete(w) {
			i.Status = protocol.Open // other ends are open
		}
		if i.Status == protocol.Open && i.complete(w) {
			i.Status, i.Value = protocol.Completed, i.Tasks[last(w).String()].Value
		}
		if a.has("early end") && k.Task == "b" && i.Workload == "diamond" {
			i.Status, i.Value = protocol.Completed, value
		}
		s.save(i)
		if i.Status != protocol.Open {
			ended = i
		}
	})
	if ended == nil || a.has("no end") || a.has("no end of a graph") && len(a.workloads[ended.Workload].Tasks) > 1 {
		return
	}
	r := protocol.Response{Kind: protocol.KindEnded, Instance: ended.ID, Status: ended.Status, Value: a.store.text(ended.Value), Message: ended.Message}
	if a.has("other instance") {
		r.Instance = "x" + r.Instance
	}
	a.write(r)
	if a.has("other end") {
		r.Value += " "
		a.write(r)
	}
}

// key is a task of a round.
type key struct {
	Task  string
	Round int
}

func (k key) String() string { return k.Task + "#" + strconv.Itoa(k.Round) }

func last(w *protocol.Workload) key { return key{w.Result, max(1, w.Repeat)} }

func (k key) inputs(w *protocol.Workload) map[string]key {
	from := map[string]key{}
	for _, need := range w.Task(k.Task).Needs {
		from[need] = key{need, k.Round}
	}
	if len(from) == 0 && k.Round > 1 {
		from[protocol.Previous] = key{w.Result, k.Round - 1}
	}
	return from
}

// keys lists all tasks of a workload in all rounds.
func keys(w *protocol.Workload) (all []key) {
	for round := 1; round <= max(1, w.Repeat); round++ {
		for _, t := range w.Tasks {
			all = append(all, key{t.Name, round})
		}
	}
	return all
}

func (i *record) complete(w *protocol.Workload) bool {
	return !slices.ContainsFunc(keys(w), func(k key) bool {
		t := i.Tasks[k.String()]
		return t == nil || !t.Done
	})
}

func mustJSON(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}
