// Package adapters holds the raced systems, one file each. A file registers its adapter in an init function, so that another
// system is just another file. Pulley's own backends are known by their names in package bench.
package adapters
