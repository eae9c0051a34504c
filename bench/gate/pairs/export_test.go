package pairs

import "time"

func (u Until) Lets(now time.Time, done int, took time.Duration) bool { return u.lets(now, done, took) }
