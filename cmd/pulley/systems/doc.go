// Package systems is pulley chaos --systems: it disturbs systems that pulley did not write, and has them judged.
package systems
