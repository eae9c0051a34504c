// Package spans records what engines do as spans of OpenTelemetry, for every system that reads these: which attempt ran when, on which
// engine, and how it ended.
//
// # What is recorded
//
// An instance is one trace, whose id is the instance's id without its dashes. Any number of engines add to it:
//
//	the instance   from its submission to its end; recorded by the engine that ends it
//	an attempt     an execution of an action; a child of the instance, and the parent of spans that the action records
//
// Ids of spans follow from what they are of ([InstanceSpan], [AttemptSpan]), so that engines need not tell each other. A repeated
// delivery of an attempt is linked to the delivery before, and a retry to the first delivery of the attempt before. A link may lead
// to nothing: an engine that is killed records no span of what it runs, and one that is killed when it has ended an instance leaves
// the trace without the instance's span.
//
// Sleeps and waits for signals run nowhere, and have no spans. The spans of attempts have the clock of their engine.
//
// # What it costs
//
// Config.Part traces a part of the instances, each of them whole and by all engines that have the same part. What is not traced
// costs a hash for each attempt. Spans wait for the exporter in a bounded queue; beyond it they are dropped, counted, and reported.
package spans
