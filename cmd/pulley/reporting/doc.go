// Package reporting is pulley report: pages on records that other commands wrote.
package reporting
