// Package push simulates the tables and statements of the design push.
//
// The design's code is the real one, on a pgstore.Host. It says which events a statement applies, so that the instances' models
// can apply their plans. Every cut-down text of apply.sql is known, with the parameters that it takes. A commit slot belongs to
// one transaction at a time (D7).
package push
