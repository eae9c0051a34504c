package profile_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"time"

	"pulley/bench/profile"
)

// A benchmark records what its processor time goes into, and keeps the profile for go tool pprof.
func ExampleBegin() {
	recording, err := profile.Begin()
	if err != nil {
		log.Fatal(err)
	}
	for until := time.Now().Add(100 * time.Millisecond); time.Now().Before(until); { // what is measured
		if _, err := json.Marshal(map[string]int{"a": 1, "b": 2}); err != nil {
			log.Fatal(err)
		}
	}
	found, err := recording.End()
	if err != nil {
		log.Fatal(err)
	}
	for _, stage := range profile.Stages() {
		if share, ok := found.Shares()[stage]; ok {
			log.Printf("%4.0f %% %s: %s", 100*share, stage, stage.Text())
		}
	}
	var file bytes.Buffer
	fmt.Println("written:", found.Write(&file), file.Len() > 0)
	// Output:
	// written: <nil> true
}
