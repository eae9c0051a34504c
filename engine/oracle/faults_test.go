package oracle

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// Each line "time process words" is one event of a process, in the order of times. A line that starts with a process only has
// the previous time plus one.
func timed(t *testing.T, lines string) History {
	t.Helper()
	var h History
	for _, line := range strings.Split(strings.TrimSpace(lines), "\n") {
		at, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		by, words, _ := strings.Cut(rest, " ")
		h = append(h, event(t, words+" at="+at+" by="+by))
	}
	return Merge(h)
}

// Two engines, p and q, and the client c, with its times. Run n of instance i is leased, offered and answered by one of them or
// both.
const (
	begin  = "10 c submitting i call=1\n12 c submitted i call=1\n"
	finish = "900 c looked i status=completed result=1\n"
)

var faults = []struct {
	name, lines string
	rules       Rules
	red, says   string // red "": right
}{
	{name: "a lease that ran out", lines: "20 p leased i n token=1 until=50\n51 q leased i n token=2 until=90\n60 q offered i n token=2\n61 q answered i n token=2 answer=applied\n70 p offered i n token=1\n71 p answered i n token=1 answer=stale"},
	{name: "a lease that was over when its owner heard of it", lines: "51 q leased i n token=2 until=90\n60 p leased i n token=1 until=50\n61 q offered i n token=2\n62 q answered i n token=2 answer=applied"},
	{name: "a lease that was given too early", red: "I11", says: "q has a lease on n (token 2) for 5 ns during which p may believe in its own (token 1)",
		lines: "20 p leased i n token=1 until=50\n45 q leased i n token=2 until=90\n60 q offered i n token=2\n61 q answered i n token=2 answer=applied\n70 p offered i n token=1\n71 p answered i n token=1 answer=stale"},
	{name: "a stopped engine's lease that ran out", lines: "20 p leased i n token=1 until=50\n51 q leased i n token=2 until=90\n55 p started i n token=1 action=x args={}\n60 q offered i n token=2\n61 q answered i n token=2 answer=applied"},
	{name: "a renewed lease that was given away", red: "I11", says: "during which p",
		lines: "20 p leased i n token=1 until=50\n30 p extending i n token=1 call=5\n31 p extended i n token=1 answer=applied until=80 call=5\n60 q leased i n token=2 until=100\n70 q offered i n token=2\n71 q answered i n token=2 answer=applied"},
	{name: "an extension that was turned down", lines: "20 p leased i n token=1 until=50\n30 p extending i n token=1 call=5\n31 p extended i n token=1 answer=stale call=5\n32 q leased i n token=2 until=100\n70 q offered i n token=2\n71 q answered i n token=2 answer=applied",
		rules: Rules{Revokes: true}},
	{name: "an extension after another's lease", red: "I3 I11", says: "in no order can the deliveries of n have happened",
		lines: "20 p leased i n token=1 until=50\n40 q leased i n token=2 until=100\n60 p extended i n token=1 answer=applied since=55 until=80\n70 q offered i n token=2\n71 q answered i n token=2 answer=applied"},
	{name: "a lease that was given back", lines: "20 p leased i n token=1 until=50\n30 p released i n token=1\n31 q leased i n token=2 until=100\n70 q offered i n token=2\n71 q answered i n token=2 answer=applied"},
	{name: "the lease of a killed process", lines: "20 p leased i n token=1 until=50\n30 x killed - process=p\n31 q leased i n token=2 until=100\n70 q offered i n token=2\n71 q answered i n token=2 answer=applied\n80 x gone - process=p"},
	{name: "the lease of a process that died by itself", lines: "20 p leased i n token=1 until=50\n31 q leased i n token=2 until=100\n70 q offered i n token=2\n71 q answered i n token=2 answer=applied\n80 x gone - process=p"},
	{name: "a second life is another owner", red: "I11", lines: "20 p.1 leased i n token=1 until=50\n31 p.2 leased i n token=2 until=100\n40 p.2 offered i n token=2\n71 p.2 answered i n token=2 answer=applied", says: "p.2 has a lease"},
	{name: "handed out twice", red: "I1", says: "n was handed out to p twice at once", lines: "20 p leased i n token=1 until=50\n31 p leased i n token=2 until=100\n40 p offered i n token=2\n71 p answered i n token=2 answer=applied"},
	{name: "a failure that is tried again by another, heard of late", lines: "20 p leased i n token=1 until=90\n30 p offered i n token=1 call=3\n35 q leased i n token=2 until=100 attempt=2\n36 p answered i n token=1 answer=applied again=yes attempt=1 call=3\n40 q offered i n token=2\n71 q answered i n token=2 answer=applied attempt=2"},
	{name: "given away while a stale completion was under way", red: "I11", says: "during which p",
		lines: "20 p leased i n token=1 until=90\n30 q leased i n token=2 until=100\n35 p offered i n token=1\n50 p answered i n token=1 answer=stale\n70 q offered i n token=2\n71 q answered i n token=2 answer=applied"},

	{name: "an answer that was lost, and had been yes", lines: "20 p leased i n token=1 until=90\n30 p offered i n token=1 call=3\n50 p answered i n token=1 answer=unknown call=3\n60 p offered i n token=1 call=4\n61 p answered i n token=1 answer=stale call=4"},
	{name: "an answer that was lost, and had been no", lines: "20 p leased i n token=1 until=90\n30 p offered i n token=1 call=3\n50 p answered i n token=1 answer=unknown call=3\n60 p offered i n token=1 call=4\n61 p answered i n token=1 answer=applied call=4"},
	{name: "two answers that were yes", red: "I3 I8", says: "applied, each for good", lines: "20 p leased i n token=1 until=30\n25 p offered i n token=1 call=3\n40 p answered i n token=1 answer=applied call=3\n51 q leased i n token=2 until=90\n60 q offered i n token=2\n61 q answered i n token=2 answer=applied"},
	{name: "no answer, and the process died", lines: "20 p leased i n token=1 until=90\n30 p offered i n token=1 call=3\n31 x killed - process=p\n40 x gone - process=p"},
	{name: "no answer, and done again after it cannot have happened", lines: "20 p leased i n token=1 until=90\n30 p offered i n token=1 call=3\n31 x killed - process=p\n40 x gone - process=p\n91 q leased i n token=2 until=120\n100 q offered i n token=2\n101 q answered i n token=2 answer=applied"},
	{name: "stale, and only a completion that nothing came of can be why", red: "I3", says: "in no order can the deliveries of n have happened",
		lines: "20 p leased i n token=1 until=90\n30 p offered i n token=1 call=3\n31 p answered i n token=1 answer=none call=3\n40 p offered i n token=1 call=4\n41 p answered i n token=1 answer=stale call=4\n500 q ended i since=490 status=completed result=1"},
	{name: "stale before the instance can have ended", red: "I3", says: "in no order can the deliveries of n have happened",
		lines: "20 p leased i n token=1 until=90\n30 p offered i n token=1 call=3\n31 p answered i n token=1 answer=stale call=3\n40 q ended i since=35 status=completed result=1"},
	{name: "stale since the instance was ending", lines: "20 p leased i n token=1 until=90\n30 p offered i n token=1 call=3\n31 p answered i n token=1 answer=stale call=3\n40 q ended i since=25 status=completed result=1"},
	{name: "applied although the instance had been seen to have ended", red: "I3", says: "in no order can the deliveries of n have happened",
		lines: "20 p leased i n token=1 until=90\n25 c looked i status=canceled\n30 p offered i n token=1 call=3\n31 p answered i n token=1 answer=applied call=3\n5 c canceling i"},
	{name: "leased although the instance had been seen to have ended", red: "I7", says: "n was leased after the instance had ended", lines: "24 q ended i since=22 status=completed result=1\n25 c looked i status=completed result=1\n30 p leased i n since=26 token=1 until=90"},
	{name: "leased by a claim after the instance had ended", red: "I7", says: "n was leased after the instance had ended", lines: "25 q ended i since=22 status=completed result=1\n26 p claiming - call=4\n28 p claimed - call=4 answer=applied\n28 p leased i n call=4 token=1 until=90"},
	{name: "leased by a claim while the instance ended", lines: "24 p claiming - call=4\n25 q ended i since=22 status=completed result=1\n28 p claimed - call=4 answer=applied\n28 p leased i n call=4 token=1 until=90"},
	{name: "leased while the instance ended", lines: "25 q ended i since=22 status=completed result=1\n30 p leased i n since=24 token=1 until=90"},
	{name: "a lease that nobody recorded", lines: "20 p leased i n token=1 until=50\n60 q claiming - call=1\n61 x killed - process=q\n65 x gone - process=q\n70 p offered i n token=1\n71 p answered i n token=1 answer=stale\n120 p leased i n token=3 until=150\n130 p offered i n token=3\n131 p answered i n token=3 answer=applied"},
	{name: "a claim that gave nothing", red: "I3", says: "in no order", lines: "20 p leased i n token=1 until=50\n60 q claiming - call=1\n61 q claimed - call=1 answer=applied\n70 p offered i n token=1\n71 p answered i n token=1 answer=stale\n80 p offered i n token=1\n81 p answered i n token=1 answer=applied"},
	{name: "a claim of a process that was gone before", red: "I3", says: "in no order", lines: "5 q claiming - call=1\n6 x gone - process=q\n20 p leased i n since=15 token=1 until=50\n70 p offered i n token=1\n71 p answered i n token=1 answer=stale\n80 p offered i n token=1\n81 p answered i n token=1 answer=unknown\n500 q ended i since=490 status=completed result=1"},
	{name: "a store that takes leases back", lines: "20 p leased i n token=1 until=50\n70 p offered i n token=1\n71 p answered i n token=1 answer=stale", rules: Rules{Revokes: true}},
	{name: "applied with a lease that was taken back", red: "I3", says: "in no order", lines: "20 p leased i n token=1 until=50\n70 p offered i n token=1 call=2\n71 p answered i n token=1 answer=stale call=2\n80 p offered i n token=1 call=3\n81 p answered i n token=1 answer=applied call=3", rules: Rules{Revokes: true}},
	{name: "cancelled with an error", lines: "20 p leased i n token=1 until=50\n21 p leased i m token=1 until=50\n30 p offered i m token=1 error=Odd\n31 p answered i m token=1 answer=applied error=Odd\n40 p offered i n token=1\n41 p answered i n token=1 answer=stale"},
	{name: "cancelled before the error", red: "I3", says: "the deliveries of n", lines: "20 p leased i n token=1 until=50\n21 p leased i m token=1 until=50\n30 p offered i n token=1\n31 p answered i n token=1 answer=stale\n40 p offered i m token=1 error=Odd\n41 p answered i m token=1 answer=applied error=Odd\n800 q ended i since=700 status=completed result=1"},

	{name: "a submission whose answer was lost", lines: "14 c submitting k call=2\n15 c submitted k call=2 answer=unknown\n16 p leased k n token=1 until=50\n20 p offered k n token=1\n21 p answered k n token=1 answer=applied\n30 c looked k status=completed result=1"},
	{name: "a submission whose answer was lost, which is there and has not ended", red: "I9", says: "has not ended", lines: "14 c submitting k call=2\n15 c submitted k call=2 answer=unknown\n16 p leased k n token=1 until=50"},
	{name: "a submission that never arrived", lines: "14 c submitting k call=2\n15 c looked k status="},

	{name: "beside a workflow that is refused", lines: "14 c submitting k call=2 bad=malformed\n15 c submitted k call=2 answer=refused"},
	{name: "refused beside a workflow that is refused", red: "I12", says: "refused beside one", lines: "13 c submitting k call=2 bad=malformed\n13 c submitting l call=2\n15 c submitted k call=2 answer=refused\n15 c submitted l call=2 answer=refused\n16 c looked l status="},
	{name: "a neighbour's completion refused", red: "I12", says: "a completion of n was refused beside one", lines: "13 c submitted k\n20 p leased k n token=1 until=90\n20 p leased i n token=2 until=90\n30 p offered k n token=1 call=4 bad=oversized\n30 p offered i n token=2 call=4\n31 p answered k n token=1 call=4 answer=refused\n31 p answered i n token=2 call=4 answer=refused\n40 c looked k status=failed error=Odd"},
	{name: "a neighbour dropped", red: "I9 I12", says: "beside one that went wrong, and has not ended", lines: "13 c submitted k\n13 c submitted l\n20 p leased k n token=1 until=90\n20 p leased l n token=2 until=90\n30 p offered k n token=1 call=4 bad=oversized\n30 p offered l n token=2 call=4\n31 p answered k n token=1 call=4 answer=refused\n31 p answered l n token=2 call=4 answer=none\n40 c looked k status=failed error=Odd"},
	{name: "beside an oversized completion", lines: "13 c submitted k\n20 p leased k n token=1 until=90\n20 p leased i n token=2 until=90\n30 p offered k n token=1 call=4 bad=oversized\n30 p offered i n token=2 call=4\n31 p answered k n token=1 call=4 answer=refused\n31 p answered i n token=2 call=4 answer=none\n32 p offered i n token=2 call=5\n33 p answered i n token=2 call=5 answer=applied\n40 c looked k status=failed error=Odd"},
}

func TestFaults(t *testing.T) {
	for _, c := range faults {
		t.Run(c.name, func(t *testing.T) {
			h := timed(t, begin+c.lines+"\n"+finish)
			rules := c.rules
			rules.Invariants = strings.Fields("I1 I3 I7 I8 I9 I11 I12")
			report, err := Check(h, rules)
			if err != nil {
				t.Fatal(err)
			}
			if got := red(report); got != c.red || !strings.Contains(report.String(), c.says) {
				t.Errorf("red %q, want %q and %q\n%s", got, c.red, c.says, report)
			}
			rules.Partial = true
			h = slices.DeleteFunc(h, func(e Event) bool { return e.Again || e.Kind == Offered && c.red == "" })
			if report, err = Check(h, rules); err != nil || c.red == "" && red(report) != "" {
				t.Errorf("a right history with lines that may be missing: %v %s", err, report)
			}
		})
	}
}

// A search without time is no pass, and one with time must find what is wrong.
func TestSearchTime(t *testing.T) {
	// So many completions at the same time have more orders than any machine can try in a moment.
	history := func(concurrent int) string {
		offered, answered := "", ""
		for call := 2; call < 2+concurrent; call++ {
			offered += fmt.Sprintf("70 p offered i n token=1 call=%d\n", call)
			answered += fmt.Sprintf("71 p answered i n token=1 answer=stale call=%d\n", call)
		}
		return begin + "20 p leased i n token=1 until=50\n" + offered + answered + "80 p offered i n token=1 call=99\n81 p answered i n token=1 answer=applied call=99\n" + finish
	}
	for limit, want := range map[time.Duration]Result{time.Nanosecond: Inconclusive, 0: Violated, time.Minute: Violated} {
		lines := history(1)
		if want == Inconclusive {
			lines = history(40)
		}
		report, err := Check(timed(t, lines), Rules{Invariants: []string{"I3"}, Revokes: true, SearchTime: limit})
		if err != nil || report.Result() != want {
			t.Errorf("%v: %v %s", limit, err, report)
		}
		if want == Inconclusive && !strings.Contains(report.String(), "the deliveries of 1 node runs could not be decided in the time") {
			t.Errorf("%s", report)
		}
	}
}

func TestQueue(t *testing.T) {
	right := begin + "20 p leased i n token=1 until=50 attempt=1\n51 q leased i n token=2 until=90 attempt=1\n60 q offered i n token=2\n61 q answered i n token=2 answer=applied attempt=1\n" + finish
	for _, c := range []struct{ name, lines, want string }{
		{"right", right, "1 1 1 0 0 0 0, 1 1 1 0 0 0 1: holds"},
		{"recovered", right + "14 c submitting k call=2\n100 c looked k status=completed result=1", "2 1 2 0 0 0 1, 1 1 1 0 0 0 1: holds"},
		{"lost", right + "14 c submitted k\n20 p leased k n token=1", "2 2 1 1 0 0 0, 2 1 1 1 0 0 1: violated"},
		{"duplicated", right + "70 p offered i n token=1\n71 p answered i n token=1 answer=applied\n72 p ended i status=completed result=1\n73 q ended i status=completed result=1", "1 1 1 0 1 0 0, 1 1 1 0 1 0 1: violated"},
		{"unexpected", right + "70 p answered k n token=1 answer=applied\n71 p ended k status=completed result=1", "1 1 2 0 0 1 0, 1 2 2 0 0 1 1: violated"},
		{"nothing", "5 c began -", "0 0 0 0 0 0 0, 0 0 0 0 0 0 0: inconclusive"},
	} {
		line := strings.ReplaceAll(c.lines, "began -", "struck - bad=nothing")
		q := CountQueue(timed(t, line), false)
		count := func(c Count) string {
			return strings.Trim(fmt.Sprint([]int{c.Attempted, c.Acknowledged, c.Done, c.Lost, c.Duplicated, c.Unexpected, c.Recovered}), "[]")
		}
		if got := fmt.Sprintf("%s, %s: %s", count(q.Instances), count(q.Runs), q.Result()); got != c.want {
			t.Errorf("%s: %s, want %s\n%s", c.name, got, c.want, q)
		}
		if wrong := len(q.Instances.Examples) + len(q.Runs.Examples); (wrong > 0) != (q.Result() == Violated) {
			t.Errorf("%s: %d examples\n%s", c.name, wrong, q)
		}
		if part := CountQueue(timed(t, line), true); part.Instances.Lost+part.Runs.Lost+part.Instances.Unexpected+part.Runs.Unexpected > 0 {
			t.Errorf("%s, from the absence of lines: %s", c.name, part)
		}
	}
}
