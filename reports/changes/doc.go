// Package changes lays out pages on what changed: a gate's decision, figures over months, and two records side by side.
package changes
