package connect

import (
	"bytes"
	"encoding/json"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
)

// Documents is a data converter that hands on a document as it came, also one that is
// no JSON. Whoever reads it tells what is wrong with it: Temporal would fail the run or
// the attempt with an error of no type, which is repeated though no repeat mends it, and
// drop a signal.
func Documents(dc converter.DataConverter) converter.DataConverter { return documents{dc} }

type documents struct{ converter.DataConverter }

func (d documents) FromPayload(payload *commonpb.Payload, value any) error {
	raw, ok := value.(*json.RawMessage)
	if ok && d.DataConverter.FromPayload(payload, raw) != nil {
		*raw = bytes.Clone(payload.GetData())
	}
	if ok {
		return nil
	}
	return d.DataConverter.FromPayload(payload, value)
}

func (d documents) FromPayloads(payloads *commonpb.Payloads, values ...any) error {
	for i, payload := range payloads.GetPayloads() {
		if i == len(values) {
			break
		}
		if _, ok := values[i].(*json.RawMessage); !ok {
			return d.DataConverter.FromPayloads(payloads, values...)
		}
		if err := d.FromPayload(payload, values[i]); err != nil {
			return err
		}
	}
	return nil
}
