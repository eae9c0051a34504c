package stored

import (
	"context"
	"fmt"

	"pulley/cmd/pulley/console"
	"pulley/engine/backend"
)

// ShownStore is an existing store that shows its instances.
type ShownStore struct {
	Shown backend.Inspector
	Place string // for people
}

// OpenShown opens an existing store, for as long as the caller shows it.
func OpenShown(ctx context.Context, flags *console.StoreFlags, application string) (s ShownStore, closing func(), err error) {
	p, err := placeOf(flags)
	if err != nil {
		return s, nil, err
	}
	store, closing, err := openStored(ctx, flags, p.spec, p.schema, application, false)
	if err != nil {
		return s, nil, err
	}
	if store == nil {
		return s, nil, fmt.Errorf("schema %s: %w", p.schema, errNoSchema)
	}
	shown, ok := store.(backend.Inspector)
	if !ok {
		closing()
		return s, nil, fmt.Errorf("backend %s does not show what it stores", p.spec)
	}
	return ShownStore{shown, "schema " + p.schema + " of backend " + p.spec.String()}, closing, nil
}
