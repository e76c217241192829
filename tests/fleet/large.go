package fleet

import (
	"slices"
	"time"

	"sluice/internal/throughput"
)

// Figures are what a large fleet shows.
type Figures struct {
	Workers         int     `json:"workers"`
	ServedSeconds   float64 `json:"servedSeconds"`   // until the last newcomer had a share
	Granted         float64 `json:"granted"`         // part of the ceiling, once the fleet has settled
	LeasesPerSecond float64 `json:"leasesPerSecond"` // over the busiest half minute then
	// Fairness is Jain's index of shares among workers that want alike: 1 is even.
	Fairness float64 `json:"fairness"`
	// What is left of the ceiling when a tenth of the workers is lost at once, and how
	// long until nine tenths and a half are granted to the others.
	LeastGrantedAfterLoss float64 `json:"leastGrantedAfterLoss"`
	LossHealedSeconds     float64 `json:"lossHealedSeconds"`
	// What is consumed at least while the owner can't be reached for five minutes.
	LeastConsumedWithoutOwner float64 `json:"leastConsumedWithoutOwner"`
}

// growth is in which time a large fleet begins, and outage how long its owner is out
// of reach.
const (
	growth = 2 * time.Minute
	outage = 5 * time.Minute
)

// Large simulates so many workers that want three times what there is: they begin
// within two minutes; when all have renewed once, a tenth of them is lost; and when
// that is over, the owner can't be reached for five minutes.
func Large(workers int) Figures {
	lease := max(time.Duration(workers)*time.Second/6, 30*time.Second)
	settled := growth + lease*8/5
	lost := settled + max(lease/5, time.Minute)
	away := lost + lease*3/2
	ceiling := throughput.Units(100_000)
	each := throughput.Units(3 * 100_000 / float64(workers))
	dead := func(worker int, at time.Duration) bool { return worker%10 == 0 && at >= lost }
	r := Start(Fleet{
		Workers: workers, Ceiling: ceiling, Begin: growth,
		Demand: func(int, time.Duration) throughput.Milli { return each },
		Dead:   dead,
		Every:  10 * time.Second,
		Lost:   func(at time.Duration) bool { return at >= away },
	})
	f := Figures{Workers: workers}
	at := func(d time.Duration) int { return int(d / r.Every) }
	part := func(m throughput.Milli) float64 { return m.Float() / ceiling.Float() }
	r.Until(lost)
	f.ServedSeconds = slices.Max(r.Served).Seconds()
	from := at(settled)
	for _, s := range r.Looks[from:] {
		f.Granted += part(s.Granted) / float64(len(r.Looks)-from)
	}
	f.LeasesPerSecond = float64(mostAsked(r.Looks[from:], 3)) / 30
	f.Fairness = jain(r)

	r.Until(away + outage)
	f.LeastGrantedAfterLoss, f.LeastConsumedWithoutOwner = 1, 1
	for _, s := range r.Looks[at(lost):at(away)] {
		held := part(s.InHand) // the dead use nothing of what they hold
		f.LeastGrantedAfterLoss = min(f.LeastGrantedAfterLoss, held)
		if held < 0.95 {
			f.LossHealedSeconds = (s.At - lost).Seconds()
		}
	}
	for _, s := range r.Looks[at(away):] {
		f.LeastConsumedWithoutOwner = min(f.LeastConsumedWithoutOwner, part(s.Consumed))
	}
	return f
}

// mostAsked is the number of questions in the busiest so many looks.
func mostAsked(looks []Look, n int) (most int) {
	for i := 0; i+n <= len(looks); i++ {
		asked := 0
		for _, s := range looks[i : i+n] {
			asked += s.Asked
		}
		most = max(most, asked)
	}
	return most
}

func jain(r *Run) float64 {
	sum, squares := 0.0, 0.0
	for worker := range r.Workers {
		share := r.Share(worker).Float()
		sum += share
		squares += share * share
	}
	return sum * sum / (float64(r.Workers) * squares)
}
