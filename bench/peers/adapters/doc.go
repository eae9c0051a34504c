// Package adapters holds the systems that are raced, one file each. A file registers its adapter from an
// init function, so that another rival is another file and nothing else. Pulley's own backends need no
// registration: every name that package bench knows is one of ours.
package adapters
