package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pulley/adapter/host"
	"pulley/adapter/protocol"
)

// BenchmarkReports reads reports of a process that writes as fast as it can.
func BenchmarkReports(b *testing.B) {
	file := filepath.Join(b.TempDir(), "reports")
	line := `{"pulley":"started","instance":"i1","task":"b","attempt":1,"inputs":{"a":"7:0.1732622400123.17"}}` + "\n" +
		`{"pulley":"finished","instance":"i1","task":"b","attempt":1,"value":"12:0.1732622400123.18"}` + "\n"
	if err := os.WriteFile(file, []byte(strings.Repeat(line, b.N)), 0o600); err != nil {
		b.Fatal(err)
	}
	script := fmt.Sprintf("read a; echo '%s'; read a; echo '{\"pulley\":\"ready\"}'; read a; echo '{\"pulley\":\"submitted\",\"batch\":1}'; read a; cat %s", greeting, file)
	h, err := host.New(host.Config{Command: []string{"sh", "-c", script}})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = h.Close(b.Context()) }()
	p, err := h.Start(0)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := p.Hello(b.Context()); err != nil {
		b.Fatal(err)
	}
	if err := p.Setup(b.Context(), host.Setup{Workloads: []protocol.Workload{pair}}); err != nil {
		b.Fatal(err)
	}
	if err := p.Submit(b.Context(), one); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	_ = p.Stop(b.Context())
}
