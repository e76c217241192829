package throughput

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Milli is an amount of capacity in thousandths of a unit, or, where so told, of
// a unit per second. Its JSON form is a number of units: 1500 is 1.5.
type Milli int64

// Unit is one read or write capacity unit.
const Unit Milli = 1000

// maxUnits bounds what is read, far above any table, so that sums cannot overflow.
const maxUnits = 1e12

// Units converts a number of units, rounding up to the next thousandth. A value
// that is no number, negative or beyond any table counts as 0 or as the bound.
func Units(units float64) Milli {
	switch {
	case math.IsNaN(units) || units <= 0:
		return 0
	case units > maxUnits:
		return Milli(maxUnits) * Unit
	}
	return Milli(math.Ceil(units*float64(Unit) - 1e-6))
}

// Float returns the number of units.
func (m Milli) Float() float64 { return float64(m) / float64(Unit) }

func (m Milli) String() string { return strconv.FormatFloat(m.Float(), 'f', -1, 64) }

// MarshalJSON writes a number of units.
func (m Milli) MarshalJSON() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalJSON reads a number of at least 0.
func (m *Milli) UnmarshalJSON(raw []byte) error {
	var units float64
	switch err := json.Unmarshal(raw, &units); {
	case err != nil:
		return fmt.Errorf("%.40s where a number is expected", raw)
	case units < 0:
		return fmt.Errorf("%s where a number of at least 0 is expected", raw)
	case units > maxUnits:
		return fmt.Errorf("%s where a number of at most %.0f is expected", raw, maxUnits)
	}
	*m = Units(units)
	return nil
}
