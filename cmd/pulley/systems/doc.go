// Package systems is pulley chaos --systems: it disturbs systems behind adapters, and has them judged.
package systems
