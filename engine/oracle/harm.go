package oracle

import "slices"

// judgeHarm checks I12: a completion, input or workflow that is meant to go wrong harms only its own instance. Every other
// instance then or later must end, without a refusal.
func judgeHarm(j *judgement) {
	j.Why = "nothing was meant to go wrong (bad) while another instance was under way, or before"
	if len(j.bad) == 0 {
		return
	}
	first := j.bad[0]
	for _, r := range j.instances {
		if r.bad || r.lines[len(r.lines)-1] < first || r.hasEndedBy(first) {
			continue
		}
		j.Judged++
		if line, why := j.harmed(r); why != "" {
			j.violate([]int{j.blamedLine(line), line}, "%s", why)
		}
	}
}

// blamedLine returns the last line before line that was meant to go wrong, or else the first after it.
func (x *index) blamedLine(line int) int {
	i, _ := slices.BinarySearch(x.bad, line)
	return x.bad[max(i-1, 0)]
}

func (j *judgement) harmed(r *instanceRecord) (line int, why string) {
	if len(r.refused) > 0 {
		return r.refused[0], "the submission of an instance was refused beside one that was meant to be"
	}
	for _, run := range r.runs {
		for _, line := range run.answered {
			if j.history[line].Answer == AnswerRefused {
				return line, "a completion of " + run.key.String() + " was refused beside one that was meant to be"
			}
		}
	}
	ends := r.ends()
	if len(ends) == 0 {
		if j.rules.Partial || !r.exists() {
			return 0, ""
		}
		return r.lines[len(r.lines)-1], "the instance was beside one that went wrong, and has not ended"
	}
	end := j.history[ends[0]].end()
	if why := j.wrong(r, end); why != "" {
		return ends[0], "the instance was beside one that went wrong, and " + why
	}
	return 0, ""
}
