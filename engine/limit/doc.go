// Package limit decides how engines share limits: how many attempts of some actions run at once, and how many start in a period,
// over all engines of a store; and which instances a store takes when the number of those that have not ended is bounded. It reads no
// clock and stores nothing.
//
// # Protocol
//
// The store keeps a [State] for each [Limit]. From time to time an engine takes a turn: it reads the state, calls [Limit.Decide]
// with what it needs, and saves the new state, which fails if another engine has saved one since; then it takes another turn. Only
// a saved decision counts. All times of a state are the store's, so that engines' clocks never meet.
//
// # Concurrency
//
// A permit is the right to run one attempt. An engine's permits end after a lease unless another turn renews them, so those of an
// engine that died are free again by themselves. Engines that need more than there is get equal shares; what one does not need goes
// to the others. What cannot be divided goes round, to the engine that has waited longest. An engine whose share became smaller
// keeps the permits of its running attempts until they end, but starts nothing with them: the sum of all permits never exceeds the
// limit, unless the limit itself was lowered while more ran.
//
// # Rate
//
// A limit of n starts per period p hands out one start after another, (p + slack)/n apart, to be used within the slack, a fortieth
// of the period: [Slack]. Two starts that are n apart are then at least p apart, so no period of length p, wherever it begins, has
// more than n starts. The price is a rate of 97.6 % of the limit, and less if starts are not used in time.
//
// # Instances
//
// A limit of instances has places. An instance gets one before it is stored, under its id, so that a repetition takes no second one
// ([Admit]). When places are short, the store looks which of the instances that have one have ended, and frees theirs. An instance that
// was admitted, and is not stored a minute later, loses its place: its submitter may have been killed.
package limit
