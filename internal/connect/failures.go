package connect

import (
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// EncryptedFailures moves the messages and stack traces of failures into
// encrypted payloads, since they name tables, keys and conditions.
func EncryptedFailures(dc converter.DataConverter) converter.FailureConverter {
	return temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter:          dc,
		EncodeCommonAttributes: true,
	})
}
