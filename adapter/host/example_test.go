package host_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"pulley/adapter/host"
	"pulley/adapter/protocol"
)

// A program drives an adapter. This one is a shell that stores nothing: it only shows who writes when.
func Example() {
	const adapter = `
read hello; echo '{"pulley":"hello","version":1,"name":"example","system":"nothing","system_version":"1","promises":{},"shapes":["single"]}'
read setup; echo '{"pulley":"ready"}'
read open; echo '{"pulley":"ready"}'
read submit; echo '{"pulley":"submitted","batch":1}'
echo '{"pulley":"started","instance":"i1","task":"only","attempt":1,"inputs":{}}'
echo '{"pulley":"finished","instance":"i1","task":"only","attempt":1,"value":"5:0.1"}'
echo '{"pulley":"ended","instance":"i1","status":"completed","value":"5:0.1"}'
read stop`
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	h, err := host.New(host.Config{
		Command: []string{"sh", "-c", adapter},
		Observe: func(process int, r protocol.Response, _ time.Time) {
			fmt.Printf("%d %s %q %q\n", process, r.Kind, r.Task, r.Value)
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = h.Close(ctx) }()
	p, err := h.Start(0)
	if err != nil {
		log.Fatal(err)
	}
	hello, err := p.Hello(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(hello.Name, "runs", hello.Shapes)
	only := protocol.Workload{Name: "one", Tasks: []protocol.Task{{Name: "only", Add: 5}}, Result: "only"}
	if err := p.Setup(ctx, host.Setup{Create: true, Workloads: []protocol.Workload{only}}); err != nil {
		log.Fatal(err)
	}
	if err := p.Open(ctx, 1, protocol.ReportTasks); err != nil {
		log.Fatal(err)
	}
	if err := p.Submit(ctx, []protocol.Instance{{ID: "i1", Workload: "one"}}); err != nil {
		log.Fatal(err)
	}
	if err := p.Stop(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// example runs [single]
	// 0 submitted "" ""
	// 0 started "only" ""
	// 0 finished "only" "5:0.1"
	// 0 ended "" "5:0.1"
}
