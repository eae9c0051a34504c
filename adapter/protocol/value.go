package protocol

import (
	"fmt"
	"strconv"
	"strings"
)

// Modulus bounds the sums of values.
const Modulus = 1_000_000_007

// Value is a task's value in parts.
type Value struct {
	Sum   int64  // (the task's Add + the sums of its inputs) mod Modulus
	Token string // of the execution that computed it, unique in the run; empty: not told
}

// ParseValue reads a value's text.
func ParseValue(text string) (v Value, err error) {
	sum, rest, found := strings.Cut(text, ":")
	if !found {
		return v, fmt.Errorf("the value %.60q has no colon; it is SUM:TOKEN", text)
	}
	v.Sum, err = strconv.ParseInt(sum, 10, 64)
	if err != nil || v.Sum < 0 || v.Sum >= Modulus || strconv.FormatInt(v.Sum, 10) != sum {
		return v, fmt.Errorf("the value %.60q does not begin with a number below %d", text, Modulus)
	}
	v.Token = strings.TrimRight(rest, " ")
	for _, r := range v.Token {
		if !isTokenRune(r) {
			return v, fmt.Errorf("the token of the value %.60q has other characters than a to z, A to Z, 0 to 9, . and -", text)
		}
	}
	return v, nil
}

func isTokenRune(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '.' || r == '-'
}

// Compute returns the text of a task's value. inputs has a value for each needed task, and may have others, which count too.
func Compute(t *Task, inputs map[string]string, token string) (string, error) {
	sum := t.Add
	for name, text := range inputs {
		v, err := ParseValue(text)
		if err != nil {
			return "", fmt.Errorf("input %q of task %q: %w", name, t.Name, err)
		}
		sum += v.Sum
	}
	for _, need := range t.Needs {
		if _, there := inputs[need]; !there {
			return "", fmt.Errorf("task %q has no input of %q, which it needs", t.Name, need)
		}
	}
	text := strconv.FormatInt(sum%Modulus, 10) + ":" + token
	if missing := t.Bytes - len(text); missing > 0 {
		text += strings.Repeat(" ", missing)
	}
	return text, nil
}
