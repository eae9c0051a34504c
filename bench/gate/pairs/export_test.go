package pairs

import "time"

// Lets says whether another pair may begin.
func (u Until) Lets(now time.Time, done int, took time.Duration) bool { return u.lets(now, done, took) }
