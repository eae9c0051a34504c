package bytesize

import "testing"

func TestParse(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "512": 512, "512B": 512, " 4 kB ": 4000, "4KB": 4000, "4KiB": 4096, "1.5MiB": 3 << 19, "2GB": 2e9, "1024GiB": Most, "0.4B": 0,
		"": -1, "B": -1, "-1": -1, "1025GiB": -1, "NaN": -1, "1e400": -1, "Inf": -1, "4 k": -1, "4kBB": -1, "4TB": -1,
	} {
		got, err := Parse(text)
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("%q is %d bytes (%v), want %d", text, got, err, want)
		}
	}
}
