// Package authors has the commands for the authors of programs that speak with pulley: worker and adapter.
package authors
