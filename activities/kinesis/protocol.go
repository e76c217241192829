package kinesis

import (
	"sync/atomic"

	"sluice/internal/recordbatch"
)

// The protocols in which the service takes records. CBOR spares the base64 of all
// data; some that stand in for the service know JSON only.
const (
	ProtocolJSON = "json"
	ProtocolCBOR = "cbor"
)

// protocol is what is known of whether the service takes CBOR.
type protocol struct {
	taken   atomic.Bool // it has answered in CBOR
	refused atomic.Bool // it gets JSON
}

// cbor says whether the next request goes in CBOR.
func (k *Activities) cbor() bool {
	return k.Settings.Protocol == ProtocolCBOR && !k.protocol.refused.Load()
}

// judgeProtocol looks at how a request in CBOR was answered. A service that has
// never answered in CBOR, and refuses the request in another form, is taken not to
// know it: it gets JSON from now on. It says whether the request is to be sent again
// in JSON at once, as none of it was stored.
func (k *Activities) judgeProtocol(x *rawExchange, outcome recordbatch.Outcome) (again bool) {
	if !x.cbor || x.status == 0 {
		return false
	}
	if x.answeredCBOR || x.status/100 == 2 {
		k.protocol.taken.Store(true)
		return false
	}
	if k.protocol.taken.Load() {
		return false
	}
	if !k.protocol.refused.Swap(true) {
		k.Logger.Warn("the Kinesis endpoint does not take CBOR: it gets JSON; set SLUICE_KINESIS_PROTOCOL=json to spare it the first try",
			"status", x.status, "code", outcome.Code, "error", outcome.Message)
	}
	return x.status/100 == 4
}
