// Package serving is pulley serve.
package serving
