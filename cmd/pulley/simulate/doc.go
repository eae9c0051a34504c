// Package simulate is pulley sim and forecast: searches in simulated worlds, and forecasts of schedules.
package simulate
