package connect

import (
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// encryptedFailures moves the messages and stack traces of failures into
// encrypted payloads, since they name tables, keys and conditions.
func encryptedFailures(dc converter.DataConverter) converter.FailureConverter {
	return temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter:          dc,
		EncodeCommonAttributes: true,
	})
}
