// Package record defines the files of a run's result, the schema that programs share which measure and report.
//
// A run owns one directory. summary.json holds the findings: one Row per scenario, backend and size, notes, the published
// Claims with the measurements, and the Ceilings of raw SQL on the same server. manifest.json holds the method: machine,
// server, settings, methods, cases, the order of the runs and the raw figures of each. samples.ndjson repeats those raw
// figures, one line per run, for line-based tools. A CeilingReport holds ceilings alone, and a Load, in load.json, one run
// under independent arrivals.
//
// Three rules hold for every file:
//
//   - A file has a schema version. A reader reads earlier versions, and rejects an unknown version or field: a misread
//     figure is worse than none.
//   - A file appears whole or not at all: it is written to a temporary file, synced, and renamed. A full disk or an
//     interruption leaves the old file or none.
//   - Names end with units. An unmeasured figure is null, never zero, and its row's warnings say why.
package record
