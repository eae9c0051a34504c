// Package instances shows the instances of a store to a browser: a list, and a page for each, in the look of reports. It only reads.
package instances
