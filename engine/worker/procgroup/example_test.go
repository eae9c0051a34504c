package procgroup_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"pulley/engine/worker/procgroup"
)

// The child of the shell ends with the shell, and both would end if this process was killed.
func ExampleSupervisor() {
	supervisor, err := procgroup.New()
	if err != nil {
		log.Fatal(err)
	}
	path, err := procgroup.Find("sh", "")
	if err != nil {
		log.Fatal(err)
	}
	group, err := supervisor.Start(procgroup.Program{
		Path: path, Argv: []string{"sh", "-c", `sleep "$SECONDS_LONG" & wait`},
		Env: procgroup.Environ(map[string]string{"SECONDS_LONG": "1000"}),
	}, procgroup.Limits{Processes: 16})
	if err != nil {
		log.Fatal(err)
	}
	group.Stop(time.Second) // SIGTERM, and SIGKILL a second later
	<-group.Done()
	fmt.Println(group.State(), group.Overrun())
	fmt.Println(supervisor.Close(context.Background()))
	// Output:
	// signal: terminated false
	// <nil>
}
