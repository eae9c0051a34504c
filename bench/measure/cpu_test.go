package measure

import (
	"context"
	"runtime"
	"testing"

	"pulley/reports/record"
)

// The server works, then this process: only the respective figure may grow.
func TestProcessorsAreDistinguished(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processor times of other processes are read on Linux only")
	}
	conn := (&room{t: t}).enter("pulley cpu test")
	p := NewProcessors(conn)
	before := p.Read()
	if _, err := conn.Exec(context.Background(), "SELECT sum(sqrt(i)) FROM generate_series(1, 4000000) i"); err != nil {
		t.Fatal(err)
	}
	between := p.Read()
	server := between.Since(before)
	if server == nil || server.ServerNS == nil || server.OthersNS == nil {
		t.Fatalf("the server's time is missing: %+v", server)
	}
	if *server.ServerNS < 2*server.ProcessNS || *server.ServerNS == 0 {
		t.Errorf("the server worked, and %d ns are its own, %d ns this process'", *server.ServerNS, server.ProcessNS)
	}
	own := burn(*server.ServerNS, p, between)
	if own.ProcessNS < *server.ServerNS || *own.ServerNS > own.ProcessNS/2 {
		t.Errorf("this process worked, and %d ns are its own, %d ns the server's", own.ProcessNS, *own.ServerNS)
	}
}

func burn(ns int64, p Processors, since Used) *record.CPU {
	for sink := 1.0; ; {
		for range 1_000_000 {
			sink = sink*1.0000001 + 1
		}
		if used := p.Read().Since(since); used == nil || used.ProcessNS >= ns || sink == 0 {
			return used
		}
	}
}
