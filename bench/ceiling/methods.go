package ceiling

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pulley/reports/record"
)

// Methods describes how the figures of a Result are measured.
func Methods(cfg Config) []record.Method {
	cfg = cfg.withDefaults()
	return []record.Method{
		{Figure: "ceilings", Text: fmt.Sprintf("completions per second that a client without an engine made durable in the designs' own tables, "+
			"on connections with the designs' settings and a shard for each: %s. Values and arguments are 64 bytes of JSON. A completion's run leaves the queue under its token and a run that became ready "+
			"enters it; beside that, a completion brings its share of what an instance of the graph writes: values that are read later, elements of a list, raises of counters. %s "+
			"statements: each row by a statement of its own, in a transaction; call: all in one statement; batched: "+
			"in one statement for %s completions, where elements of a list that stand together share rows, as raises of a counter share one; append: one event for each completion in the journal's table, %s in one insert that the shard's epoch fences; "+
			"packed: the same with as many events in a row as a page takes, in a table of its own; copy: a row for each by COPY, behind a fence in the same transaction.%s Each point for %s after a quarter of that as warm-up; of the median over measurements (of two: their mean) "+
			"the best point. The rows were counted afterwards.",
			numbers(cfg.Connections, "connections"), graphsText(cfg.Graphs), numbers(cfg.Batches, ""), numbers(cfg.Batches, ""), instances(cfg.Nodes), cfg.Duration.Round(time.Microsecond))},
		{Figure: "idle", Text: "durations of single calls on one connection while nothing else continued. commit: the update of one row in a transaction of its own; transaction: " +
			"one completion's four writes, an element and a raise among them, as four statements between BEGIN and COMMIT, each waiting for the one before; call: the same in one " +
			"statement; append: the appended, fenced row of one completion. HdrHistogram over all measurements."},
	}
}

func graphsText(graphs []record.InstanceWrites) string {
	if graphs == nil {
		return "The workload is a fan-out of one to a hundred to one, endlessly: an element and a raise for each completion."
	}
	return "Each graph's counts stand with its rate; the instances follow each other, so that what they have in common within a call is as much as can be."
}

func instances(nodes []int) string {
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(n int) bool { return n == 0 })
	if len(nodes) == 0 {
		return ""
	}
	return " With instances of " + numbers(nodes, "node runs") + ", one ends with each such number of completions and another is submitted: the " +
		"whole row of it is inserted, and later updated with its end and result, in the tables of either design; batched, append and packed do so in the statement of the " +
		"completions, statements and call by one of its own for each (call: the end in that of the completion), copy by two in its transaction; " +
		"of a completion that ends its instance the journal has no event."
}

func numbers(list []int, noun string) string {
	words := make([]string, len(list))
	for i, n := range list {
		words[i] = fmt.Sprint(n)
	}
	text := strings.Join(words, ", ")
	if last := len(words) - 1; last > 0 {
		text = strings.Join(words[:last], ", ") + " or " + words[last]
	}
	return strings.TrimSpace(text + " " + noun)
}
