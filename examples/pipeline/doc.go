// Package pipeline is the data pipeline of the push design's description, with its actions as programs in sh, Perl and Python:
//
//	pulley run examples/pipeline/pipeline.ir --actions examples/pipeline/actions.yaml --input '{"fan_out": 8, "loop_iters": 4}'
//
// The Go code tests that the result is that of the built-in actions, and that no process is left, also after engines are
// killed.
package pipeline
