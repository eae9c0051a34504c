// Package named finds the adapters of systems that a user names:
//
//   - push, pull:scan=sql and other designs of pulley's own, with their options: this program with adapter serve.
//   - NAME: the program pulley-adapter-NAME, in the folder of this program, else in PATH. make adapters builds those that come with
//     pulley.
//   - exec:COMMAND: a command, as [host.Command] reads it.
package named
