// Package stored is the commands for instances that are in a database: they run nothing themselves.
package stored
