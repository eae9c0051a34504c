package judge

// Rule names a violation.
type Rule string

// The rules. The first eight belong to promises, the others hold for every system.
const (
	RuleSubmit      Rule = "submit"
	RuleResubmit    Rule = "resubmit"
	RuleAtLeastOnce Rule = "at-least-once"
	RuleAtMostOnce  Rule = "at-most-once"
	RuleResults     Rule = "results"
	RuleOrder       Rule = "order"
	RuleAttempts    Rule = "attempts"
	RuleRecovers    Rule = "recovers"
	RuleValue       Rule = "value"
	RuleNeeds       Rule = "needs"
	RuleEndChanged  Rule = "end-changed"
	RuleResult      Rule = "result"
	RuleEndLost     Rule = "end-lost"
)

// Definition is a rule with what violates it, in the words of docs/adapter.md.
type Definition struct {
	Rule     Rule   `json:"rule"`
	Violated string `json:"violated"`
}

// Rules lists all rules.
func Rules() []Definition {
	return []Definition{
		{RuleSubmit, "an instance that was accepted, and that the store does not know, or that is never worked on although faults have ended"},
		{RuleResubmit, "two values of a task that counted, or two ends, of which the second was computed from the first task on after the instance was submitted again"},
		{RuleAtLeastOnce, "an instance that completed although a task of it never finished"},
		{RuleAtMostOnce, "a task that started twice in an attempt"},
		{RuleResults, "two values of one task in inputs or ends"},
		{RuleOrder, "an instance that starts before one that was accepted before it was submitted, if no process died and no fault began since"},
		{RuleAttempts, "an instance that failed although no task had so many attempts"},
		{RuleRecovers, "open work that nobody executes, long after faults have ended"},
		{RuleValue, "a value that no execution of its task has given"},
		{RuleNeeds, "a task that started before a task that it needs had finished, by its inputs"},
		{RuleEndChanged, "an end that was taken back or changed"},
		{RuleResult, "a completed instance whose value is not that of its result's task"},
		{RuleEndLost, "an end that the store does not have when pulley looks"},
	}
}
