package wfformat

import (
	"encoding/json"
	"fmt"
	"io"
)

// The format requires an execution time; unknownTime replaces a missing one.
const unknownTime = "unknown"

// document is the layout of version 1.5, in writing order.
type document struct {
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	CreatedAt   string   `json:"createdAt,omitempty"`
	Version     string   `json:"schemaVersion"`
	Workflow    workflow `json:"workflow"`
}

type workflow struct {
	Specification specification `json:"specification"`
	Execution     execution     `json:"execution"`
}

type specification struct {
	Tasks []specTask `json:"tasks"`
	Files []specFile `json:"files,omitempty"`
}

type specTask struct {
	Name        string   `json:"name"`
	ID          string   `json:"id"`
	Parents     []string `json:"parents"`
	Children    []string `json:"children"`
	InputFiles  []string `json:"inputFiles,omitempty"`
	OutputFiles []string `json:"outputFiles,omitempty"`
}

type specFile struct {
	ID          string `json:"id"`
	SizeInBytes int64  `json:"sizeInBytes"`
}

type execution struct {
	MakespanInSeconds float64       `json:"makespanInSeconds"`
	ExecutedAt        string        `json:"executedAt"`
	Tasks             []execTask    `json:"tasks"`
	Machines          []execMachine `json:"machines,omitempty"`
}

type execTask struct {
	ID               string   `json:"id"`
	RuntimeInSeconds float64  `json:"runtimeInSeconds"`
	ExecutedAt       string   `json:"executedAt,omitempty"`
	Machines         []string `json:"machines,omitempty"`
}

type execMachine struct {
	NodeName      string   `json:"nodeName"`
	System        string   `json:"system,omitempty"`
	Architecture  string   `json:"architecture,omitempty"`
	CPU           *execCPU `json:"cpu,omitempty"`
	MemoryInBytes int64    `json:"memoryInBytes,omitempty"`
}

type execCPU struct {
	Vendor    string `json:"vendor,omitempty"`
	CoreCount int    `json:"coreCount,omitempty"`
}

// Write writes the trace in version 1.5; equal traces give equal bytes. It fails if Check does.
func Write(w io.Writer, t *Trace) error {
	if err := t.Check(); err != nil {
		return err
	}
	doc := document{Name: t.Name, Description: t.Description, CreatedAt: t.CreatedAt, Version: "1.5"}
	doc.Workflow.Execution = execution{MakespanInSeconds: t.MakespanSeconds, ExecutedAt: t.ExecutedAt}
	if t.ExecutedAt == "" {
		doc.Workflow.Execution.ExecutedAt = unknownTime
	}
	children := t.children()
	for i := range t.Tasks {
		task := &t.Tasks[i]
		doc.Workflow.Specification.Tasks = append(doc.Workflow.Specification.Tasks, specTask{
			Name: task.Name, ID: task.ID, Parents: t.ids(task.Parents), Children: t.ids(children[i]),
			InputFiles: task.Inputs, OutputFiles: task.Outputs,
		})
		doc.Workflow.Execution.Tasks = append(doc.Workflow.Execution.Tasks,
			execTask{ID: task.ID, RuntimeInSeconds: task.RuntimeSeconds, ExecutedAt: task.ExecutedAt, Machines: task.Machines})
	}
	for _, m := range t.Machines {
		out := execMachine{NodeName: m.Name, System: m.System, Architecture: m.Architecture, MemoryInBytes: m.MemoryBytes}
		if m.CPU != "" || m.Cores > 0 {
			out.CPU = &execCPU{Vendor: m.CPU, CoreCount: m.Cores}
		}
		doc.Workflow.Execution.Machines = append(doc.Workflow.Execution.Machines, out)
	}
	for _, f := range t.Files {
		doc.Workflow.Specification.Files = append(doc.Workflow.Specification.Files, specFile{f.ID, f.SizeBytes})
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(doc); err != nil {
		return fmt.Errorf("cannot write the trace %s: %w", shown(t.Name), err)
	}
	return nil
}

// ids is never nil, since the format requires a list.
func (t *Trace) ids(tasks []int) []string {
	ids := make([]string, len(tasks))
	for i, task := range tasks {
		ids[i] = t.Tasks[task].ID
	}
	return ids
}
