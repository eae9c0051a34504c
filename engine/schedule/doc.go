// Package schedule decides when instances are started at planned times. It is pure: no clock, no randomness, no storage.
//
// A [Spec] is what a user writes; [Compile] checks it and makes a [Schedule]. Its ticks are instants that follow from the Spec
// alone. [Schedule.Decide] takes where a schedule stands, the time, and what still runs, and returns the firings that follow and
// where the schedule stands then. Every engine that decides the same gets the same: the instance of a firing has the id
// [FiringID] of schedule and tick, and jitter is a hash of both.
//
// # Ticks of a cron expression
//
// An expression has five fields (minute, hour, day of month, month, day of week), or six with seconds first, or is one of @yearly,
// @monthly, @weekly, @daily and @hourly. If both days are restricted, one that matches is enough. It is read in the time zone of
// the Spec. Where the zone changes its offset, the hour field decides:
//
//   - An hour field of * follows elapsed time. A tick is an instant whose local time matches: local times that do not exist have
//     no tick, and local times that exist twice have two.
//   - With every other hour field, each matching local time has one tick. One that exists twice has it at its first occurrence.
//     One that does not exist has it later, by as much as the clock jumps: if that goes from 02:00 to 03:00, 02:30 is
//     03:30. Local times that meet at one instant share a tick.
//
// So a daily expression has one tick on each day, and "every ten minutes" stays that.
//
// # Ticks of an interval
//
// They are the multiples of the interval since 1970-01-01 00:00 UTC. No zone changes them.
//
// # Jitter
//
// A tick is due at its time plus jitter: less than Spec.Jitter, and less than the time until the next tick. So ticks fall due in
// their order.
//
// # Missed ticks
//
// A tick that is decided more than Spec.Grace after it was due is missed: no engine ran, or none reached the store. Spec.CatchUp
// says which missed ticks fire. Ticks of a paused schedule never do.
package schedule
