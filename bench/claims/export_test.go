package claims

// Least returns the configuration with the smallest sizes.
func (c Config) Least() Config {
	c.Quick, c.least = true, true
	return c
}
