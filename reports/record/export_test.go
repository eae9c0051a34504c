package record

import (
	"bytes"
	"fmt"
)

// ReadSamples reads and validates a samples.ndjson.
func ReadSamples(path string) ([]Sample, error) {
	data, err := readBounded(path)
	if err != nil {
		return nil, err
	}
	var samples []Sample
	for n, line := range bytes.Split(data, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var s sampleLine
		err := decodeHead(line)
		if err == nil {
			err = decodeStrict(line, &s)
		}
		if err != nil {
			return nil, fmt.Errorf("read %s:%d: %w", path, n+1, err)
		}
		samples = append(samples, s.Sample)
	}
	if err := validateSamples(samples); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return samples, nil
}
