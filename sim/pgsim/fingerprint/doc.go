// Package fingerprint tells when a statement has changed that a simulated one was written for.
package fingerprint
