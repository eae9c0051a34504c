// Package yamlfile reads YAML files and reports all their mistakes at once, with positions.
//
// [Parse] returns a tree of [Value]s with positions, and resolves aliases and merge keys. Methods of a [Report], such as
// [Report.Text] or [Report.Fields], read a value as the expected type, or else note a mistake. Reading continues after a
// mistake, so that one run finds all. Only a syntax error of YAML ends it.
//
// A file is one document. Keys are texts, unique in their map.
package yamlfile
