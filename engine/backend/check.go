package backend

import "fmt"

// Check validates a grant.
func (g Grant) Check() error {
	switch {
	case g.Max < 0:
		return fmt.Errorf("grant for %q: Max is %d; give zero or more", g.Owner, g.Max)
	case g.Max > 0 && g.Lease <= 0:
		return fmt.Errorf("grant for %q: Lease is %s; give a positive duration", g.Owner, g.Lease)
	}
	return nil
}

// CheckRenewal validates a grant for a renewal.
func (g Grant) CheckRenewal() error {
	switch {
	case g.Lease < 0:
		return fmt.Errorf("lease of %s; give a positive duration, or zero to give the leases back", g.Lease)
	case g.Pause < 0 || g.Pause > 0 && g.Lease > 0:
		return fmt.Errorf("pause of %s and lease of %s; give a pause of at least zero, and only to leases that are given back", g.Pause, g.Lease)
	}
	return nil
}

// CheckShard validates a shard's number in a store of n.
func CheckShard(shard, n int) error {
	if shard < 0 || shard >= n {
		return fmt.Errorf("shard %d of %d; give one from 0 to %d", shard, n, n-1)
	}
	return nil
}
