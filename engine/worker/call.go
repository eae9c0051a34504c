package worker

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/expr"
	"pulley/engine/graph"
	"pulley/engine/ir"
)

// The failure types of this package.
const (
	TypeError         = "Error"
	TypeTimeout       = "Timeout"
	TypePanic         = "Panic"
	TypeUnknownAction = "UnknownAction"
	TypeArgument      = "ArgumentError"
	TypeResult        = "ResultError"
	TypeLimit         = "LimitExceeded"
)

// Error is an error with a type that retry and except match.
type Error struct {
	Type    string // empty means Error
	Message string
}

func (e *Error) Error() string { return e.Type + ": " + e.Message }

// Call is one attempt at an action.
type Call struct {
	Instance uuid.UUID
	Node     string     // in the graph
	Path     graph.Path // place in loops and spreads
	Action   string
	Attempt  int             // from 1; deliveries after a crash do not count
	Delivery int             // of the attempt, from 1: more than one after a crash
	Args     json.RawMessage // a JSON object; must not be changed

	valueBytes int // the limit of a value
	decoded    []expr.Entry
}

func newCall(task backend.Task, node *graph.Node, valueBytes int) Call {
	call := Call{
		Instance: task.Lease.Key.Instance, Path: task.Lease.Key.Run.Path,
		Action: task.Action, Attempt: task.Attempt, Delivery: task.Deliveries, Args: task.Args, valueBytes: valueBytes,
	}
	if node != nil {
		call.Node = node.Name
	}
	return call
}

func (c *Call) limits() ir.Limits { return ir.Limits{ValueBytes: c.valueBytes} }

// Key identifies the node run: all its attempts and deliveries share it.
func (c Call) Key() string {
	if c.Path == "" {
		return c.Instance.String() + "/" + c.Node
	}
	return c.Instance.String() + "/" + c.Node + "/" + string(c.Path)
}

// Bind decodes the arguments into the struct that into points to, by the rules of encoding/json; numbers in an any become
// json.Number. Every argument needs a field, and every field an argument, except those tagged omitempty or omitzero. The error
// is an *Error of type ArgumentError that names the argument.
func (c Call) Bind(into any) error {
	fields, err := fieldsOf(into)
	if err != nil {
		return fmt.Errorf("worker: action %s: %w", c.Action, err)
	}
	args, err := c.decode(fields.all)
	if err != nil {
		return err
	}
	if err := c.checkNames(args, fields.all, fields.required); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(c.Args))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) && wrong.Field != "" {
			return c.argument("argument %s must be a %s, not a %s", wrong.Field, wrong.Type, wrong.Value)
		}
		return c.argument("%v", err)
	}
	return nil
}

// decode takes the names of known arguments.
func (c Call) decode(known []string) ([]expr.Entry, error) {
	if c.decoded != nil {
		return c.decoded, nil
	}
	args, err := expr.DecodeObject(c.Args, c.limits(), known)
	if err != nil {
		return nil, c.argument("the arguments cannot be read: %v", err)
	}
	return args, nil
}

func (c Call) checkNames(args []expr.Entry, known, required []string) error {
	unknown := ""
	for _, a := range args {
		if !slices.Contains(known, a.Key) && (unknown == "" || a.Key < unknown) {
			unknown = a.Key
		}
	}
	if unknown != "" {
		return c.argument("unknown argument %s; it takes %s", unknown, list(known))
	}
	for _, name := range required {
		if !slices.ContainsFunc(args, func(a expr.Entry) bool { return a.Key == name }) {
			return c.argument("argument %s is missing", name)
		}
	}
	return nil
}

func (c Call) argument(format string, args ...any) *Error {
	return &Error{Type: TypeArgument, Message: "action " + c.Action + ": " + fmt.Sprintf(format, args...)}
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

type structFields struct{ all, required []string }

func fieldsOf(into any) (structFields, error) {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return structFields{}, fmt.Errorf("Bind takes a pointer to a struct, not a %T", into)
	}
	var fields structFields
	for _, f := range reflect.VisibleFields(v.Elem().Type()) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || f.Anonymous && name == "" || name == "-" && options == "" {
			continue
		}
		name = cmp.Or(name, f.Name)
		fields.all = append(fields.all, name)
		if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") {
			fields.required = append(fields.required, name)
		}
	}
	return fields, nil
}
