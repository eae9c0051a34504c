package serve_test

import (
	"fmt"
	"net/http/httptest"
	"os"
	"strings"

	"pulley/reports/serve"
)

// A program that has a server of its own can show the runs of a directory there.
func ExampleServer_Handler() {
	dir, err := os.MkdirTemp("", "runs-*")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s, err := serve.New(serve.Config{Dir: dir, Address: "127.0.0.1:8090"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = s.Close() }()
	answer := httptest.NewRecorder()
	s.Handler().ServeHTTP(answer, httptest.NewRequest("GET", "http://127.0.0.1:8090/", nil))
	fmt.Println(answer.Code, strings.Contains(answer.Body.String(), "There is no run here yet"))
	// Output: 200 true
}
