package main

import (
	"strings"
	"testing"
)

const root = "../.."

// readmeLines bounds the README: its reader has two minutes.
const readmeLines = 150

func TestTheReadmeIsShort(t *testing.T) {
	t.Parallel()
	if n := strings.Count(pageText(t, "README.md"), "\n"); n > readmeLines {
		t.Errorf("the README has %d lines; %d are the most: move what is long to docs", n, readmeLines)
	}
}
