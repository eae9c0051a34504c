// Package journal is the design in which readiness lives in the memory of whoever owns a shard, and what is
// durable is what happened: a row for each instance and a row for each completion, appended.
//
// # What makes it this design
//
//   - Each shard has one owner, which alone decides there. It keeps the shard's running instances in memory, and finds there
//     what becomes ready. The other designs keep nothing of an instance in memory from one call to the next.
//   - A completion appends one row that says what the action gave, or ends its instance's row. It writes no counter, queue or
//     lease, and reads nothing: a batch is one statement, whose cost does not grow with the instance.
//   - The shard's epoch fences, where the other designs lock rows: an append of an earlier owner finds another epoch.
//   - What is not durable is computed again: whoever takes a shard over replays its events. So the design pays when an owner
//     changes, and for the calls of engines that do not own the shard, which are forwarded to the one that does.
//
// The pool, migrations, notifications, programs and the bounded retry are those of package postgres; leases and the resolution
// of lost commits are the design's own.
//
// # Who decides
//
// A shard has one owner, a Backend that is open somewhere. Its row in shards says who, in which epoch, and until
// when, on the server's clock; the owner renews it sixteen times over, and reckons its end from before it asked, so
// that its own view ends first. No lease on a node run ends after that of its shard: it is an eighth longer than the
// longest of them, and what would end later all the same is granted only once the shard is renewed (I11). Whoever finds the shard free, or the owner's time over, takes it with the next
// epoch. The epoch is part of a key: changing it waits for appends under way, which lock the key, and whatever an
// earlier owner sends later finds another epoch, and nothing of it is applied. Tokens have the epoch in their high
// bits and a counter below, so that they grow from owner to owner with nothing durable.
//
// In memory are the running instances: node runs that are ready, waiting or leased, barriers, and values. What the
// core plans for a completion is applied there, in place, each change with what undoes it. Then one statement appends
// a row for each completion of the batch, and the ends of instances, if the epoch still holds. After it, and not
// before, outcomes are answered and tasks handed out; a batch that the server refuses is undone. Claiming and
// renewing leases of tasks touch nothing but memory. One call at a time uses a shard; shards do not wait for one another.
//
// # What is durable
//
// instances has a row for each, with its input, and at last its end. events has a row for each completion of an
// instance that goes on, with what the action gave, under a number that the owner counts; a completion that ends its
// instance has none, since the end says all. A failure that is tried again is an event with its wait, so that neither
// attempts nor due times depend on what was in memory. One that is delivered again is an event with the count. An instance with many events has its state written down as
// one, which stands for all before it: a loop of ten thousand rounds is not replayed from its first.
//
// # Taking over
//
// Who takes a shard begins its running instances anew and applies their events in order, through the code that
// applied them first: the same graph, the same event and the same values give the same plan. Leases on node runs are
// in memory only, and are over before the owner's on the shard is: what was leased is ready again. How often an attempt was delivered is
// in memory, too, and each delivery but the first is an event before it is made. Who takes the shard of an owner that is gone
// presumes the first delivery of all that may have been handed out: so the bound of deliveries holds, the usual
// delivery writes nothing, and an attempt that only waited while an owner died may lose one delivery of its bound. (Where the server's
// clock is set back meanwhile, one that had waited for its time may have one more.) An owner that is
// closed gives its shards back with the leases, which then hold. So does one that has more than its part among the engines that look for
// work, as soon as it hears of another; nobody takes more than that, but for one who has something leased in a shard for
// which nobody comes. An engine that has shards places there what it submits, where it may choose (backend.Placer), and
// asks others for work only when they have told of some, or rarely.
//
// # Others than the owner
//
// What they submit they store, marked as pending, and tell the owner, who takes it up. Completions, claims and the rest
// they send to the owner through the table requests, and wait for the answer, of which a notification tells them; if the owner is
// gone, they take the shard.
// Who gives up waiting withdraws the request: its row, which the append that is made for it marks, says what was applied,
// and what did not cannot any more. A crash of the server empties the table: then what became of a request is not known.
// So every backend can do everything, and those that own shards do it fast.
//
// # Unknown commits
//
// If a connection dies during an append, the owner takes a new epoch, so that the lost append can no longer are applied,
// and looks for its last row (D7). Found: it happened. Not found: it is appended again. Where the server cannot be
// asked, the shard is dropped from memory, the caller told so, and the shard loaded when the server is back.
//
// # Bounds
//
// The instances in memory are counted in bytes, which Stats tells; beyond Config.Memory what is submitted is stored and
// begun later. An instance that only waits for its time, and for long, leaves memory: its state is written down as an
// event, unless it is large beside what happened since that was last done, and what stays is when its time comes and
// which events to read then. It is loaded a moment before, and whoever takes the shard over leaves it where it is.
// Events of instances that have ended are dropped by Sweep, pages of them at a time: a page without a live one with one
// range, of others the dead by name. An instance whose events cannot be applied is set aside, harms no other, and can
// be canceled.
package journal
