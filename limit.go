package sluice

import (
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"

	"sluice/activities"
)

// maxPayload is the server's limit for one payload, in bytes.
const maxPayload = 2 << 20

// LimitPayloads refuses payloads beyond the server's limit where they arise,
// with TooLarge. The server would refuse them too, but a large enough answer of
// an activity is lost on the way to it, and asked for again until a timeout.
func LimitPayloads(dc converter.DataConverter) converter.DataConverter { return limited{dc} }

type limited struct{ converter.DataConverter }

func (l limited) ToPayload(value any) (*commonpb.Payload, error) {
	payload, err := l.DataConverter.ToPayload(value)
	if err != nil {
		return nil, err
	}
	return payload, checkPayload(len(payload.GetData()))
}

func (l limited) ToPayloads(values ...any) (*commonpb.Payloads, error) {
	payloads, err := l.DataConverter.ToPayloads(values...)
	if err != nil {
		return nil, err
	}
	size := 0
	for _, p := range payloads.GetPayloads() {
		size += len(p.GetData())
	}
	return payloads, checkPayload(size)
}

func checkPayload(size int) error {
	if size <= maxPayload {
		return nil
	}
	return activities.Fail(activities.TypeTooLarge, activities.Failure{Message: fmt.Sprintf(
		"a payload of %d bytes, more than the server's %d; set SLUICE_PAYLOAD_BUCKET, or hand on where the data is", size, maxPayload)})
}
