// Package fingerprint detects that a real statement has changed since it was simulated.
package fingerprint
