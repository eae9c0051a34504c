package depth

import "testing"

func TestVariableChoosesTheSize(t *testing.T) {
	t.Setenv(Variable, "")
	if Night() || Of(3, 300) != 3 {
		t.Error("without the variable, tests go deep")
	}
	t.Setenv(Variable, "night")
	if !Night() || Of(3, 300) != 300 {
		t.Errorf("with %s=night, tests do not go deep", Variable)
	}
}
