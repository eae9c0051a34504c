package mutants

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Reference is the file of the adapter, from the module's root.
const Reference = "examples/adapters/queue.py"

// Mutant is a bug.
type Mutant struct {
	Name  string
	Doc   string // what it does, and what comes of it under which fault
	Edits []Edit
}

// Edit replaces a passage of the adapter.
type Edit struct {
	Old string // stands in the adapter once
	New string
}

// All returns the mutants. The caller owns the slice.
func All() []Mutant {
	return []Mutant{{
		Name: "done-before-executed",
		Doc: "marks a job done, makes its followers ready and only then executes it: the work of a process that is killed before that " +
			"never finishes, and counts",
		Edits: []Edit{{`        time.sleep(task.get("ms", 0) / 1000)
        if job.attempt <=`, `        if job.attempt <=`}, {`        self.report("finished", **about, value=value)
        followers`, `        followers`}, {`        if end:
            send("ended"`, `        time.sleep(task.get("ms", 0) / 1000)
        self.report("finished", **about, value=value)
        if end:
            send("ended"`}},
	}, {
		Name:  "no-reclaim",
		Doc:   "never takes a job whose lease has expired: a job of a process that is killed, or whose connection is cut, stays open for ever",
		Edits: []Edit{{`leased_until < now()`, `leased_until = '-infinity'`}},
	}, {
		Name: "two-transactions",
		Doc: "commits a value first, and then its followers' readiness and the instance's end: a kill or a cut in between leaves an " +
			"instance that nobody continues",
		Edits: []Edit{{`        rows = self.query("""
            WITH job AS (UPDATE jobs SET value = $3 WHERE seq = $1 AND attempt = $2 AND value IS NULL RETURNING instance),`,
			`        self.query("UPDATE jobs SET value = $3 WHERE seq = $1 AND attempt = $2 AND value IS NULL", job.seq, job.attempt, value)
        rows = self.query("""
            WITH job AS (SELECT instance FROM jobs WHERE seq = $1 AND attempt = $2 AND value = $3),`}},
	}, {
		Name: "answered-before-commit",
		Doc: "answers a submit, lingers for others, and only then commits: instances that were answered are lost if the process is " +
			"killed in between",
		Edits: []Edit{{`                names = {`, `                send("submitted", batch=request["batch"])
                time.sleep(0.2)
                names = {`}, {`for t in self.workloads[w]["tasks"]])
                send("submitted", batch=request["batch"])
`, `for t in self.workloads[w]["tasks"]])
`}},
	}}
}

// Apply returns the text of the adapter with the bug in it. It fails if a passage does not stand in the text exactly once.
func (m Mutant) Apply(text string) (string, error) {
	for _, e := range m.Edits {
		if n := strings.Count(text, e.Old); n != 1 {
			return "", fmt.Errorf("mutant %s: what it replaces stands %d times in the adapter, must be once; bring it up to date:\n%s", m.Name, n, e.Old)
		}
		text = strings.Replace(text, e.Old, e.New, 1)
	}
	return text, nil
}

// Write writes the adapter with the bug in it into a folder, and returns the file's path. root is the module's root.
func (m Mutant) Write(root, dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(Reference)))
	if err != nil {
		return "", fmt.Errorf("mutant %s: %w", m.Name, err)
	}
	changed, err := m.Apply(string(text))
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, m.Name+".py")
	return path, os.WriteFile(path, []byte(changed), 0o755)
}
