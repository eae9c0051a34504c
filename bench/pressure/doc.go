// Package pressure puts a store under what production puts on it beside the load: a transaction that somebody holds open,
// sessions that read, a pool of few connections, a network, and instances that wait.
//
// Start prepares what presses before a run, and Stop ends it after the run and says whether it was there all the while: a
// figure that was taken under a pressure which was not there means nothing.
package pressure
