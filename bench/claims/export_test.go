package claims

import "time"

func (c Config) Least() Config {
	c.Quick, c.least = true, true
	return c
}

// Countdown returns what is said of an estimate of which a part has finished, by the time that it took.
func Countdown(all, finished time.Duration) func(took time.Duration) string {
	c := &countdown{left: all}
	c.finish(finished)
	return c.remaining
}

var PeerFigures = peerFigures

// NoExponent is the note of a figure whose costs do not grow.
const NoExponent = noExponent
