// Package limitstore stores limits on Postgres, for the designs that have them: each embeds a [LimitTable]. The table is one of package
// pgstore's migrations. Each call is one statement, so that an engine that is stopped holds no lock.
package limitstore
