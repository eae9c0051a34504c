package procstatus_test

import (
	"runtime"
	"testing"

	"pulley/internal/procstatus"
)

func TestBytes(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has /proc/self/status")
	}
	now, files := procstatus.Bytes(procstatus.Resident), procstatus.Bytes(procstatus.ResidentFiles)
	if peak := procstatus.Bytes(procstatus.ResidentPeak); peak < 1<<20 || peak > 1<<40 || now < 1<<20 || files < 1 || files > peak {
		t.Errorf("of %d bytes that are resident, %d at the most, %d are of files", now, peak, files)
	}
	if n := procstatus.Bytes("VmH") + procstatus.Bytes("Name") + procstatus.Bytes(""); n != 0 {
		t.Errorf("what is no such field has %d bytes", n)
	}
}
