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

func TestEscapeJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"a":"b"}`: `{"a":"b"}`, `"ä…"`: `"ä…"`, "\"\u009b31m\u007f\"": `"\u009b31m\u007f"`, "\"\u202e\"": `"\u202e"`, "\"\U000e0001\"": `"\udb40\udc01"`,
	} {
		if got := string(EscapeJSON([]byte(text))); got != want {
			t.Errorf("%q becomes %s, want %s", text, got, want)
		}
	}
}
