package claims

// Least gives the configuration with the least sizes there are.
func (c Config) Least() Config {
	c.Quick, c.least = true, true
	return c
}
