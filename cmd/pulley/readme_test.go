package main

import (
	"strings"
	"testing"
)

// root is the root of the repository, from this package.
const root = "../.."

// readmeLines is how long the README may be: whoever opens it has two minutes.
const readmeLines = 150

func TestTheReadmeIsShort(t *testing.T) {
	t.Parallel()
	if n := strings.Count(pageText(t, "README.md"), "\n"); n > readmeLines {
		t.Errorf("the README has %d lines; %d are the most: move what is long to docs", n, readmeLines)
	}
}
