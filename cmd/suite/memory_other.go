//go:build !linux

package main

// memoryDir would be a directory in memory; only Linux has one that is known.
func memoryDir() string { return "" }
