package stored

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"pulley/engine/backend"
	"pulley/internal/lines"
)

func reader(in io.Reader, linger time.Duration) *batchReader {
	return &batchReader{
		lines: lines.NewReader(in, 8<<20), name: "in", shards: 4, linger: linger,
		check: func(name string, data []byte) (json.RawMessage, error) {
			if data[0] != '{' {
				return nil, fmt.Errorf("%s: no object", name)
			}
			return data, nil
		},
	}
}

// Groups are bounded by their number and by their bytes, and each is of one shard.
func TestGroupsOfABatchAreBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lines, bytes int
		want         []int
	}{
		{2*groupMax + 1, 10, []int{groupMax, groupMax, 1}},
		{10, groupBytesMax / 4, []int{4, 4, 2}},
		{0, 0, nil},
	} {
		text := strings.Repeat("{"+strings.Repeat("x", max(c.bytes-2, 0))+"}\n", c.lines)
		var got []int
		err := reader(strings.NewReader(text), time.Hour).each(t.Context(), func(group []wanted) error {
			shard := backend.ShardOf(group[0].id, 4)
			if i := slices.IndexFunc(group, func(w wanted) bool { return backend.ShardOf(w.id, 4) != shard }); i >= 0 {
				t.Errorf("group %d has shards %d and %d", len(got), shard, backend.ShardOf(group[i].id, 4))
			}
			got = append(got, len(group))
			return nil
		})
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%d lines of %d bytes: groups %v, %v, want %v", c.lines, c.bytes, got, err, c.want)
		}
	}
}

// A writer that pauses has its lines stored, and an interruption does not wait for it.
func TestASlowWriterOfABatch(t *testing.T) {
	t.Parallel()
	in, out := io.Pipe()
	defer func() { _ = out.Close() }()
	ctx, stop := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	go func() { _, _ = io.WriteString(out, "{}\n{}\n") }() // ends with the pipe
	err := reader(in, linger).each(ctx, func(group []wanted) error {
		if len(group) == 0 || len(group) > 2 {
			t.Errorf("%d instances", len(group))
		}
		stop(enough)
		return nil
	})
	if !errors.Is(err, enough) {
		t.Error(err)
	}
}

func TestARefusedLineEndsABatch(t *testing.T) {
	t.Parallel()
	stored := 0
	err := reader(strings.NewReader("{}\n{}\nno\n{}\n"), time.Hour).each(t.Context(), func(group []wanted) error {
		stored += len(group)
		return nil
	})
	if err == nil || err.Error() != "in:3: no object" || stored != 2 {
		t.Errorf("%d stored, %v", stored, err)
	}
}
