package procenv

import (
	"bufio"
	"os"
	"os/exec"
	"testing"

	"pulley/internal/depth"
)

func TestFind(t *testing.T) {
	depth.Needs(t, "a second process")
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("there is no /proc")
	}
	cmd := exec.Command("sh", "-c", "echo begun; read line")
	cmd.Env = append(os.Environ(), "PULLEY_TEST_FIND=a.1", "PULLEY_TEST_FOUND=b")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if found := Find("PULLEY_TEST_FIND=a.", Settled); found[cmd.Process.Pid] != "PULLEY_TEST_FIND=a.1" {
		t.Errorf("found %v, not the child %d", found, cmd.Process.Pid)
	}
	if found := Find("PULLEY_TEST_FIND=b.", Glance); len(found) > 0 {
		t.Errorf("found %v, by a value that nobody has", found)
	}
	if v, ok := Of(cmd.Process.Pid, "PULLEY_TEST_FOUND=", Glance); !ok || v != "PULLEY_TEST_FOUND=b" {
		t.Errorf("the child has %q, %v", v, ok)
	}
	_ = in.Close()
	_ = cmd.Wait() // read fails at the end of its input
	if v, ok := Of(cmd.Process.Pid, "PULLEY_TEST_FOUND=", Glance); ok {
		t.Errorf("a process that ended has %q", v)
	}
}
