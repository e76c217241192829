package jobchain

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/document"
)

// TestUnclaimNamesAHolderOrForce: one that named nobody once ended whatever claim there
// was not, and was told that all is well.
func TestUnclaimNamesAHolderOrForce(t *testing.T) {
	for _, c := range []struct{ input, fault string }{
		{`{}`, "holder: required; or give force, which ends anybody's claim"},
		{`{"token":1}`, "holder: required; or give force, which ends anybody's claim"},
		{`{"holder":"one"}`, ""},
		{`{"force":true}`, ""},
		{`{"holder":1}`, "holder: "},
	} {
		var m UnclaimMessage
		faults := document.Decode(json.RawMessage(c.input), &m)
		m.Check(&faults)
		if c.fault == "" {
			require.NoError(t, faults.Err(), c.input)
			continue
		}
		require.ErrorContains(t, faults.Err(), c.fault, c.input)
	}
}
