// Package yamlfile reads YAML files whose mistakes are all to be told at once, each with its place.
//
// [Parse] gives a tree of [Value]s: aliases and merge keys are resolved, and each value knows where it stands. A [Report]
// collects what is wrong: its methods read values as what they should be, such as [Report.Text] or [Report.Fields], and
// note a mistake where they are something else. Whoever reads goes on after a mistake, so that one run finds all of them.
// Only a mistake in the syntax of YAML itself ends the reading, since nothing can be said about what stands behind it.
//
// A file is one document. Keys are texts, and stand once in their map.
package yamlfile
