package soak

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/tests/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// systems are all that there are.
var systems = []generator{
	{"requests", requests}, {"dynamodb", throttled}, {"kinesis", puts}, {"watches", watches},
	{"counting", counting}, {"claims", claims}, {"ingest", ingestion},
}

// patience is how long after the last fault everything may take to end: a worker that
// is lost while nothing happens is noticed within three minutes.
const patience = 5 * time.Minute

// figures of all rounds; `make soak` prints them.
type figures struct {
	Seed     uint64         `json:"seed"`
	Seconds  float64        `json:"seconds"`
	Rounds   int            `json:"rounds"`
	Faults   map[Kind]int   `json:"faults"`
	Promises int            `json:"promises"`
	Effects  int            `json:"effects"`
	Accepted int            `json:"accepted"`      // entries of the journal that were promised
	Doubles  map[string]int `json:"doubles"`       // that are allowed, by system
	Repeated int            `json:"repeatedTasks"` // workflow tasks that failed and may: see harmless
	Breaches int            `json:"breaches"`
}

// fromEnv reads a number that make gives.
func fromEnv(t *testing.T, name string, otherwise int) int {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, name)
	return n
}

const (
	shortKills   = 10
	shortServers = 2
	serverEvery  = 10 // kills of workers to one of the server
	killsARound  = 20
)

// TestSystemsSurviveFaults runs all systems at once under a plan of faults and audits
// them; with SLUICE_SOAK_KILLS, first each in turn.
func TestSystemsSurviveFaults(t *testing.T) {
	kills := fromEnv(t, "SLUICE_SOAK_KILLS", 0)
	seed := uint64(fromEnv(t, "SLUICE_SOAK_SEED", int(time.Now().Unix()%1_000_000)))
	t.Logf("seed %d: SLUICE_SOAK_SEED=%d has the same plan of faults", seed, seed)
	f := &figures{Seed: seed, Faults: map[Kind]int{}, Doubles: map[string]int{}}
	defer report(t, f, time.Now())
	s := harness.Start(t, harness.Options{Own: true, Args: []string{"--no-ui", "--data", t.TempDir()}})
	s.Starter("setup").OK(t)
	if kills == 0 {
		round(t, s, f, systems, Sizes{Kills: shortKills, Servers: shortServers})
		return
	}
	// Half of the kills are for the systems in turn.
	each := max(kills/2/len(systems), 1)
	for _, g := range systems {
		t.Run(g.name, func(t *testing.T) {
			round(t, s, f, []generator{g}, Sizes{Kills: each, Servers: max(each/serverEvery, 1)})
		})
	}
	for left := kills - each*len(systems); left > 0; left -= killsARound {
		n := min(left, killsARound)
		t.Run("all", func(t *testing.T) { round(t, s, f, systems, Sizes{Kills: n, Servers: max(n/serverEvery, 1)}) })
	}
}

func report(t *testing.T, f *figures, began time.Time) {
	f.Seconds = time.Since(began).Seconds()
	line, err := json.Marshal(f)
	require.NoError(t, err)
	t.Logf("%s", line)
	if path := os.Getenv("SLUICE_SOAK_OUTPUT"); path != "" {
		require.NoError(t, os.WriteFile(path, append(line, '\n'), 0o600))
	}
}

// round runs some systems under a plan of their own and audits them.
func round(t *testing.T, s *harness.Stack, f *figures, some []generator, sizes Sizes) {
	sizes.Workers = 3
	seed := f.Seed + uint64(f.Rounds)
	f.Rounds++
	w := &world{s: s, name: s.Name("soak"), length: sizes.Length(), gates: t.TempDir(), jobs: s.TaskQueue + "-jobs", made: makeResources(t, s)}
	began, spool := time.Now(), t.TempDir()
	s.Guard.BeginJournal(t)
	worker := func() *harness.Process { return s.StartWorker("TMPDIR=" + spool).Process }
	jobs := func() *harness.Process { return s.LaunchProgram("tests/jobs", "SLUICE_TASK_QUEUE="+w.jobs) }
	d := newDriver(t, s, worker, worker, jobs)
	d.stream = w.made.stream
	ctx, cancel := context.WithTimeout(t.Context(), w.length+patience)
	defer cancel()
	collected := begin(ctx, w, some)
	d.run(ctx, Plan(seed, sizes))
	promises, err := collected()
	if err != nil {
		t.Error(err) // the audit tells more
	}
	seen, err := w.evidence(t.Context(), began, promises)
	require.NoError(t, err)
	for _, a := range s.Guard.Journal(t) {
		seen.Journal = append(seen.Journal, Entry{a.Service, a.Operation, a.Target, a.Key})
	}
	seen.Remains.Processes = d.end()
	seen.Remains.Files = filesIn(t, spool)
	verdict := Audit(promises, seen)
	for kind, n := range d.did {
		f.Faults[kind] += n
	}
	f.add(verdict)
	for _, b := range verdict.Breaches {
		t.Errorf("seed %d: %s", seed, b)
	}
}

func (f *figures) add(v Verdict) {
	f.Promises += v.Promises
	f.Effects += v.Effects
	f.Accepted += v.Accepted
	f.Repeated += v.Repeated
	f.Breaches += len(v.Breaches)
	for system, n := range v.Doubles {
		f.Doubles[system] += n
	}
}

// begin starts the generators; the answer waits for their ends.
func begin(ctx context.Context, w *world, some []generator) func() ([]Promise, error) {
	var all sync.WaitGroup
	promises, errs := make([][]Promise, len(some)), make([]error, len(some))
	for i, g := range some {
		all.Go(func() { promises[i], errs[i] = g.run(ctx, w) })
	}
	return func() (list []Promise, err error) {
		all.Wait()
		for _, p := range promises {
			list = append(list, p...)
		}
		return list, errors.Join(errs...)
	}
}

// filesIn lists what workers left in their directory for temporary files.
func filesIn(t *testing.T, dir string) (names []string) {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
