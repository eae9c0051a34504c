// Package schedulestore stores schedules on Postgres, for all designs: each embeds a [Table]. The table is one of package pgstore's
// migrations.
package schedulestore
