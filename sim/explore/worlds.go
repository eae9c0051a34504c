package explore

// design is one, simulated: what is on the server, and how it is held against what it should be.
type design interface {
	store
	tables
}

// worlds are those of one program, played one after the other. Each has the coroutines and the memory again that the one before it
// has left.
type worlds struct {
	load   *workload
	spare  spare
	memory statements
}

// begin makes the world of a case, in which nothing has happened yet.
func (p *worlds) begin(c Case, newDesign func(*world, *statements) design, trace *Trace) *world {
	w := newWorld(c, p.load, &p.spare, trace)
	p.memory.reset()
	d := newDesign(w, &p.memory)
	w.attach(d, newJudge(w, d))
	return w
}

// rest ends what the last has left.
func (p *worlds) rest() { p.spare.rest() }
