// Package claims compares measurements with what others published about these designs, with this project's goals, and with
// what others published about their systems.
//
// A claim is a sentence with figures. An experiment runs what measures one claim, or related ones. Each figure is a median over
// repeated runs with its order-statistic interval (package stats), which alone decides:
//
//   - it holds if the whole interval is on the claimed side,
//   - it does not hold if the whole interval is on the other,
//   - and otherwise it is open: more runs may decide.
//
// A claim holds if all of its figures do, and does not if none does. If they differ, it depends: on what is counted, or on its
// subject. A figure without valid runs is not measured and decides nothing.
//
// What others published about their own systems holds for their machines, and is not judged. It stands beside what was measured
// here in the same shape: by our schedulers, and by the system itself where it is given (Config.Systems).
//
// Our own goals are ratios, counts and slopes, which hardly depend on the machine. For an absolute published figure, the
// measured one is this machine's.
package claims
