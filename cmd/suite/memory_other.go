//go:build !linux

package main

// memoryDir returns none; only Linux has a known one.
func memoryDir() string { return "" }
