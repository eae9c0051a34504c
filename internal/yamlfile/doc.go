// Package yamlfile reads YAML files and reports all their mistakes at once, with positions.
//
// [Parse] returns a tree of [Value]s with resolved aliases and merge keys, and positions. A [Report] collects mistakes: its
// methods, such as [Report.Text] or [Report.Fields], read values as expected types, and note a mistake otherwise. Readers
// continue after a mistake, so that one run finds all. Only a syntax error of YAML ends the reading, since nothing after it can
// be interpreted.
//
// A file is one document. Keys are texts, unique in their map.
package yamlfile
