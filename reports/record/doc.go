// Package record is the result of a run as it is written to disk: the one schema that those who measure write and
// those who report read.
//
// A run owns one directory. summary.json holds what was found: one Row per scenario, backend and size, the notes, the
// published Claims beside what was measured, and the Ceilings, what raw SQL did on the same server. manifest.json holds
// how it was found: machine, server, settings, methods, the cases, the order of the runs and the raw figures of each.
// samples.ndjson holds those raw figures again, one line per run, for tools that read lines. A CeilingReport is what
// was found of ceilings alone, and a Load, in load.json, one run under arrivals that do not wait for it.
//
// Three rules hold for every file:
//
//   - A file carries its schema version. A reader reads earlier versions, and refuses a version, or a field, that it does
//     not know: a figure that is read wrongly is worse than one that is not read.
//   - A file appears whole or not at all. It is written beside its place, synced, and renamed into it, so a full disk
//     or an interrupted program leaves the old file or none.
//   - Units stand last in names. A figure that could not be measured is null, never zero, and the warnings of its row
//     say why.
package record
