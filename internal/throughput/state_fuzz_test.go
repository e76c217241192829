package throughput

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// FuzzParseResource: what is taken as a resource is written as it was.
func FuzzParseResource(f *testing.F) {
	for _, name := range []string{"dynamodb/eu-west-1/orders/read", "dynamodb/scope/eu-west-1/orders/index/by-day/write", "dynamodb/eu-west-1/_control/write", "a/b", "", "////", "dynamodb//x/read"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if r, err := ParseResource(name); err == nil {
			require.Equal(t, name, r.String())
		}
		TableName(name)
	})
}

// FuzzOwner: whatever bytes the state has that a run carries, an owner goes on from it
// and leases nothing below zero.
func FuzzOwner(f *testing.F) {
	o := newOwner(100)
	for _, worker := range []string{"a", "b"} {
		o.Lease(start, ask(worker, 80))
		text, err := json.Marshal(o)
		require.NoError(f, err)
		f.Add(text)
	}
	f.Add([]byte(`{"holders":{"x":{"units":-1}},"utilization":9e18,"provisioned":-5}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var o Owner
		if json.Unmarshal(text, &o) != nil {
			return
		}
		for n := range 4 {
			now := at(time.Duration(n) * time.Second)
			o.Tick(now)
			lease := o.Lease(now, ask("a", 50))
			require.GreaterOrEqual(t, lease.UnitsPerSecond, Milli(0))
			_, err := json.Marshal(o.Status(now))
			require.NoError(t, err)
			o.Next()
			o.Idle(now)
		}
		o.Release(at(time.Minute), "a")
		_, err := json.Marshal(o)
		require.NoError(t, err)
	})
}
