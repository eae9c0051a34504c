package spans

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/google/uuid"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"pulley/engine/backend"
)

// InstanceTrace returns the id of an instance's trace.
func InstanceTrace(id uuid.UUID) trace.TraceID { return trace.TraceID(id) }

// InstanceSpan returns the id of an instance's span: the first eight bytes of SHA-256 of "instance" and the id.
func InstanceSpan(id uuid.UUID) trace.SpanID { return spanID("instance", id.String()) }

// AttemptSpan returns the id of an attempt's span: the first eight bytes of SHA-256 of its numbers, joined by slashes. attempt and
// delivery count from 1.
func AttemptSpan(key backend.Key, attempt, delivery int) trace.SpanID {
	return spanID("attempt", fmt.Sprintf("%s/%d/%s/%d/%d", key.Instance, key.Run.Node, key.Run.Path, attempt, delivery))
}

func spanID(kind, text string) trace.SpanID {
	sum := sha256.Sum256([]byte(kind + " " + text))
	return trace.SpanID(sum[:8])
}

// isTraced chooses a part of the instances, the same ones on every engine. It hashes the id, since ids are not random in all bits.
func isTraced(id trace.TraceID, part float64) bool {
	if part >= 1 {
		return true
	}
	sum := sha256.Sum256(id[:])
	return float64(binary.BigEndian.Uint64(sum[:8]))/(1<<64) < part
}

type idsKey struct{}

type ids struct {
	trace trace.TraceID
	span  trace.SpanID
}

func withIDs(ctx context.Context, i ids) context.Context { return context.WithValue(ctx, idsKey{}, i) }

// givenIDs gives spans the ids in their context, and random ones to the spans of actions.
type givenIDs struct{}

var _ sdktrace.IDGenerator = givenIDs{}

// NewIDs implements sdktrace.IDGenerator.
func (givenIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	if given, ok := ctx.Value(idsKey{}).(ids); ok {
		return given.trace, given.span
	}
	var id trace.TraceID
	binary.NativeEndian.PutUint64(id[:8], rand.Uint64())
	binary.NativeEndian.PutUint64(id[8:], 1+rand.Uint64N(1<<63))
	return id, randomSpan()
}

// NewSpanID implements sdktrace.IDGenerator.
func (givenIDs) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	if given, ok := ctx.Value(idsKey{}).(ids); ok {
		return given.span
	}
	return randomSpan()
}

func randomSpan() (id trace.SpanID) {
	binary.NativeEndian.PutUint64(id[:], 1+rand.Uint64N(1<<63))
	return id
}

// sampler records the chosen instances whole, and what actions record as part of them.
type sampler struct{ part float64 }

// ShouldSample implements sdktrace.Sampler.
func (s sampler) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	result := sdktrace.SamplingResult{Decision: sdktrace.Drop, Tracestate: trace.SpanContextFromContext(p.ParentContext).TraceState()}
	if isTraced(p.TraceID, s.part) {
		result.Decision = sdktrace.RecordAndSample
	}
	return result
}

// Description implements sdktrace.Sampler.
func (s sampler) Description() string { return fmt.Sprintf("InstancesPart{%g}", s.part) }
