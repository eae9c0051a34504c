package console

import "testing"

func TestDuplicateKey(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": 1, "b": 2}`: "", `{"a": 1, "a": 2}`: "a", `{"a": {"b": 1}, "b": {"b": 2, "c": [{"x": 1}, {"x": 2}]}}`: "", `{"a": [1, {"b": "b", "c": 2, "b": 3}]}`: "b",
		`[]`: "", `{"a": "a", "b": "a"}`: "", `{`: "", `{"a": 1, "\u0061": 2}`: "a", `{"a": {}, "a": {}}`: "a", ``: "",
	} {
		if got := duplicateKey([]byte(text)); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
