//go:build !race

package graph_test

const raced = false
