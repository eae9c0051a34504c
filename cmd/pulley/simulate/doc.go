// Package simulate is pulley sim: searches in simulated worlds, and forecasts of schedules.
package simulate
