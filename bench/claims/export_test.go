package claims

func (c Config) Least() Config {
	c.Quick, c.least = true, true
	return c
}
