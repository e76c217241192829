package dynamodb

import (
	"fmt"
	"math/big"
)

// WholeNumber reads a DynamoDB number, of any size and notation, as the nearest
// int64 below it.
func WholeNumber(text string) (int64, error) {
	f, _, err := big.ParseFloat(text, 10, 256, big.ToZero)
	if err != nil {
		return 0, fmt.Errorf("%q is no number", text)
	}
	n, _ := f.Int64() // what is beyond an int64 becomes the nearest one
	return n, nil
}
