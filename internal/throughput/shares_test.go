package throughput

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func normal(units ...float64) (demands []Demand) {
	for _, u := range units {
		demands = append(demands, Demand{2: Units(u)})
	}
	return demands
}

func TestSharesAreMaxMinFair(t *testing.T) {
	for name, c := range map[string]struct {
		capacity float64
		demands  []Demand
		want     []float64
	}{
		"even when all want more":       {100, normal(300, 300, 300, 300), []float64{25, 25, 25, 25}},
		"who wants less gets that":      {100, normal(15, 255, 15, 15), []float64{15, 55, 15, 15}},
		"what nobody wants is spread":   {100, normal(10, 10), []float64{50, 50}},
		"alone":                         {100, normal(0), []float64{100}},
		"nobody":                        {100, nil, []float64{}},
		"nothing to share":              {0, normal(5, 5), []float64{0, 0}},
		"higher first, a tenth is kept": {100, []Demand{{0: Units(500)}, {4: Units(500)}}, []float64{90, 10}},
		"kept only as far as wanted":    {100, []Demand{{0: Units(500)}, {4: Units(4)}}, []float64{96, 4}},
		"higher wants little":           {100, []Demand{{0: Units(20)}, {4: Units(500)}}, []float64{20, 80}},
		"a tenth at every class":        {100, []Demand{{0: Units(500)}, {1: Units(500)}, {2: Units(500)}}, []float64{90, 9, 1}},
	} {
		got := Shares(Units(c.capacity), c.demands)
		want := []Milli{}
		for _, u := range c.want {
			want = append(want, Units(u))
		}
		require.Equal(t, want, got, name)
	}
}

// drawDemands makes demands of every class for some workers.
func drawDemands(t *rapid.T) []Demand {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) (d Demand) {
		for class := range d {
			d[class] = Milli(rapid.Int64Range(0, 100_000).Draw(t, "units"))
		}
		return d
	}), 1, 12).Draw(t, "demands")
}

func TestSharesAddUpAndAreFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		capacity := Milli(rapid.Int64Range(0, 500_000).Draw(t, "capacity"))
		demands := drawDemands(t)
		shares := Shares(capacity, demands)
		var sum, wanted Milli
		for i, share := range shares {
			require.GreaterOrEqual(t, share, Milli(0))
			sum += share
			wanted += demands[i].Total()
		}
		require.LessOrEqual(t, sum, capacity, "no more than there is")
		require.Greater(t, sum, capacity-Milli(len(demands)*(Priorities+1)), "and all of it, but for what does not divide")
		if wanted <= capacity {
			for i, share := range shares {
				require.GreaterOrEqual(t, share, demands[i].Total(), "enough for all")
			}
		}
	})
}

// With one class: nobody who wants more than another gets less, and who is short
// has at least what every other has.
func TestSharesOfOneClassAreMaxMin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		capacity := Milli(rapid.Int64Range(0, 500_000).Draw(t, "capacity"))
		wants := rapid.SliceOfN(rapid.Int64Range(0, 100_000), 1, 12).Draw(t, "wants")
		var demands []Demand
		var total Milli
		for _, w := range wants {
			demands = append(demands, Demand{2: Milli(w)})
			total += Milli(w)
		}
		if total <= capacity {
			return
		}
		shares := Shares(capacity, demands)
		for i := range shares {
			for j := range shares {
				if shares[i] < demands[i][2] { // short
					require.LessOrEqual(t, shares[j], shares[i]+1)
				}
			}
		}
	})
}

func TestDemandReadsWhatItWrites(t *testing.T) {
	d := Demand{0: 1500, 4: 1}
	raw, err := json.Marshal(d)
	require.NoError(t, err)
	require.Equal(t, `{"1":1.5,"5":0.001}`, string(raw))
	var got Demand
	require.NoError(t, json.Unmarshal(raw, &got))
	require.Equal(t, d, got)
	for _, bad := range []string{`{"0":1}`, `{"6":1}`, `{"high":1}`, `{"1":-1}`, `[1]`} {
		require.Error(t, json.Unmarshal([]byte(bad), &got), bad)
	}
}
