package limits

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/document"
)

func faultsOf(check func(*document.Faults)) string {
	var faults document.Faults
	check(&faults)
	if err := faults.Err(); err != nil {
		return err.Error()
	}
	return ""
}

// TestLimitsCountBytes: a character may be three of them, and six in a search
// attribute.
func TestLimitsCountBytes(t *testing.T) {
	for _, c := range []struct {
		name  string
		check func(*document.Faults)
		want  string
	}{
		{"name", func(f *document.Faults) { CheckName(f, "a", strings.Repeat("€", 333)+"a") }, ""},
		{"longer name", func(f *document.Faults) { CheckName(f, "a", strings.Repeat("€", 334)) }, "a: 1002 bytes; at most 1000"},
		{"queue", func(f *document.Faults) { CheckTaskQueue(f, "q", "_sys/jobs") }, ""},
		{"reserved queue", func(f *document.Faults) { CheckTaskQueue(f, "q", "/_sys/foo") }, "q: begins with /_sys/; such task queues are Temporal's own"},
		{"longer queue", func(f *document.Faults) { CheckTaskQueue(f, "q", strings.Repeat("q", 1001)) }, "q: 1001 bytes; at most 1000"},
		{"ID", func(f *document.Faults) { CheckID(f, "id", strings.Repeat("i", 996), "/run") }, ""},
		{"longer ID", func(f *document.Faults) { CheckID(f, "id", strings.Repeat("i", 997), "/run") },
			"id: 997 bytes, and up to 4 more for the IDs that are made of it, like …/run; at most 1000 together"},
		{"ID alone", func(f *document.Faults) { CheckID(f, "id", strings.Repeat("i", 1001), "") }, "id: 1001 bytes; at most 1000"},
		{"attribute", func(f *document.Faults) { CheckAttribute(f, "t", strings.Repeat("t", 2046)) }, ""},
		{"longer attribute", func(f *document.Faults) { CheckAttribute(f, "t", strings.Repeat("t", 2047)) },
			"t: 2049 bytes as a search attribute, which it is shown as; at most 2048"},
		{"escaped attribute", func(f *document.Faults) { CheckAttribute(f, "t", strings.Repeat("<", 342)) },
			"t: 2054 bytes as a search attribute, which it is shown as; at most 2048"},
		{"fairness key", func(f *document.Faults) { CheckFairnessKey(f, "k", strings.Repeat("€", 21)) }, ""},
		{"longer fairness key", func(f *document.Faults) { CheckFairnessKey(f, "k", strings.Repeat("€", 22)) }, "k: 66 bytes; at most 64"},
	} {
		require.Equal(t, c.want, faultsOf(c.check), c.name)
	}
}

func TestClipKeepsWholeCharacters(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"short", "short"}, {strings.Repeat("a", 10), strings.Repeat("a", 10)}, {strings.Repeat("a", 11), "aaaaaaa…"}, {"aaaaaa€€", "aaaaaa…"},
	} {
		require.Equal(t, c.want, Clip(c.text, 10))
	}
}
