// Package eager simulates the tables and statements of the design eager.
//
// The design's code is the real one, on a pgstore.Host. It says which events a statement applies, so that the instances' models
// can apply their plans.
package eager
