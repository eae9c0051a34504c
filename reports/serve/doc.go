// Package serve shows the runs below a directory to a browser: a list, the report of each, two in comparison, and a run in progress
// as it proceeds.
//
// In place of runs it can show the instances of a store: what is shown of them, [Config.Instances] decides.
//
// It only reads. A report is laid out when it is asked for, and kept as long as the files of its record stay the same. Nothing
// outside of the directory is read: neither through "..", nor through a symbolic link, which counts as no file here.
//
// A server on a loopback address trusts every program that can connect, including every page in the user's browser. So a request must name
// the server as its user would (against DNS rebinding), and must not come from another origin. On other addresses, it must have a
// token. Connections, streams, renderings, headers and times are bounded; only GET and HEAD are answered.
package serve
