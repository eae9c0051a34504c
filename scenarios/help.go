package scenarios

// Help lists the keys of a scenario's file, one per line.
const Help = `about       one line
program     a file with a program, in the scenario's folder; or one of:
generate    {shape, …}: chain, fanout, loop, spread, branches, layered or diamond, with its parameters
trace       a file in WfFormat, or {shape, tasks, seed, time_scale}
mix         a list of {scenario, size, weight, parameters} that take turns
parameters  names with values that a command may change
sizes       {means, default, least, most}; without it the scenario comes in one size
variants    so many inputs take turns; 1 if it is not there
draw        names with distributions of numbers, drawn for each variant
input       what main takes
actions     by name {service, fails: {share, type, message}, gives, payload}
arrivals    closed:16, constant:200/s, poisson:200/s, ramp:10/s..500/s,30s, …
expect      {result, nodes, failure: {type, message, action}}
checks      which of results and nodes are checked; both if it is not there
run         {warm_up, measure, drain, in_flight, workers, engines}: how commands measure it
objective   latencies that percentiles must keep
pressure    what is put on the store in addition to the load, such as {readers: 4}, or makes its results large: {payload: "const:100kB"}
x-…         anything, for aliases to stand for
`
