package main

import (
	"encoding/json"
	"strings"
	"testing"

	"pulley/cmd/pulley/console"
	"pulley/internal/pgtest"
)

// shallowAdapter says hello and is ready, and does nothing.
const shallowAdapter = `echo begins >&2
while read line; do case $line in
*'"hello"'*) echo '{"pulley":"hello","version":1,"name":"shallow","system":"nothing","system_version":"1","promises":{},"shapes":["single"],"settings":[{"name":"speed","default":"fast"}]}';;
*'"stop"'*) exit 0;;
*'"open"'*) exit 5;;
*) echo '{"pulley":"ready"}';;
esac; done`

func TestAdapterCheck(t *testing.T) {
	t.Parallel()
	got := runForRaces(t, "adapter", "check", "--dsn", pgtest.DSN(t), "--timeout", "1m", "--setting", "speed=slow", "sh", "-c", shallowAdapter)
	if got.code != console.ExitFailed {
		t.Errorf("%+v", got)
	}
	wantParts(t, got.err, "adapter: begins\n")
	wantParts(t, got.out, "shallow: nothing 1\n", "one process: sent open of process 0 with 1 slots; expected ready within 1m0s; came its end with exit status 5, and on standard error: begins; answer open by ready",
		"left out: settings: hello lists none whose default is a number\n", "look in a new process: they were not run, since one process has a finding\n", "1 finding, 2 checks without: end of standard input, hello\n")
	got = call(t, nil, "adapter", "check", "--dsn", pgtest.DSN(t), "--timeout", "1m", "--format", "json", "exec:sh -c 'exit 3'")
	var checks struct {
		Hello    any
		Findings []map[string]string
		Passed   []string
	}
	if err := json.Unmarshal([]byte(got.out), &checks); err != nil || got.code != console.ExitFailed || len(checks.Findings) != 1 || checks.Hello != nil || checks.Passed == nil {
		t.Errorf("%v: %+v", err, got)
	}
	if f := checks.Findings[0]; f["check"] != "hello" || f["came"] != "its end with exit status 3" {
		t.Errorf("the finding is %v", f)
	}
}

func TestAdapterCheckIsRefused(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"pulley: there is no program nosuchprogram; check the name, and PATH\n":          {"nosuchprogram", "--timeout"},
		"pulley: the command exec:'sh ends within a quotation; close it\n":               {"exec:'sh"},
		"pulley: --setting: setting \"speed\": write it as NAME=VALUE\n":                 {"--setting", "speed", "sh"},
		"pulley: --timeout is a time above zero; write such as 30s\n":                    {"--timeout", "0s", "sh"},
		"pulley: the adapter shallow has no setting \"sped\", did you mean \"speed\"?\n": {"-q", "--setting", "sped=1", "--dsn", pgtest.DSN(t), "sh", "-c", shallowAdapter},
		"pulley: expected \"<command> ...\"; see pulley help adapter check\n":            {},
	} {
		got := call(t, nil, append([]string{"adapter", "check"}, args...)...)
		if got.code != console.ExitUsage || got.err != want || got.out != "" {
			t.Errorf("%q: %+v, want %s", args, got, want)
		}
	}
	got := call(t, nil, "adapter", "check", "--dsn", "postgres://nobody@127.0.0.1:1/none", "sh")
	if got.code != console.ExitUsage || strings.Count(got.err, "\n") != 1 {
		t.Errorf("%+v", got)
	}
}

// TestAdapterServe checks the exit statuses of an adapter of ours. Package adapter/own checks what it does.
func TestAdapterServe(t *testing.T) {
	t.Parallel()
	const hello = `{"pulley":"hello","version":1}` + "\n"
	for _, c := range []struct {
		design, in string
		code       int
		out, err   string // the begin, and all
	}{
		{"push", hello + `{"pulley":"stop"}` + "\n", 0, `{"pulley":"hello","version":1,"name":"push","system":"pulley push","system_version":"`, ""},
		{"pull:batch=7:scan=sql", hello, 0, `{"pulley":"hello","version":1,"name":"pull:scan=sql:batch=7",`, ""},
		{"push", hello + "not JSON\n", console.ExitFailed, `{"pulley":"hello"`, "pulley: pulley wrote a line that cannot be read: \"not JSON\": invalid character 'o' in literal null (expecting 'u')\n"},
		{"push", hello + `{"pulley":"setup","store":{"dsn":"postgres://127.0.0.1:1/x"},"settings":{"lease_ms":"1"}}` + "\n", console.ExitUsage, `{"pulley":"hello"`,
			"pulley: the system cannot work here: lease_ms is \"1\"; choose milliseconds from 100 to 3600000\n"},
		{"push", hello + `{"pulley":"setup","store":{}}` + "\n", console.ExitUsage, `{"pulley":"hello"`, "pulley: the system cannot work here: there is no database; the design stores its state in Postgres\n"},
		{"pusch", hello, console.ExitUsage, "", "pulley: there is no backend \"pusch\", did you mean \"push\"? See pulley list backends\n"},
		{"memory", hello, console.ExitUsage, "", "pulley: the design memory keeps nothing that several processes could share; choose another one\n"},
	} {
		got := call(t, strings.NewReader(c.in), "adapter", "serve", c.design)
		if got.code != c.code || !strings.HasPrefix(got.out, c.out) || c.out == "" && got.out != "" || got.err != c.err {
			t.Errorf("%s, %s: %+v, want %+v", c.design, c.in, got, c)
		}
	}
}
