package main

import (
	"cmp"
	"flag"
	"fmt"
	"hash/fnv"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// mutated are the workflows and the rules that decide for them.
var mutated = []string{"workflows", "internal/jobchain", "internal/quiescence", "internal/throughput", "internal/taskmessage", "internal/taskclaim", "internal/s3event", "internal/duration", "internal/backoff"}

func main() {
	seed := flag.Uint64("seed", 1, "which changes; those of 1 are held")
	n := flag.Int("n", 24, "how many")
	only := flag.String("only", "", "only places whose name has this text")
	flag.Parse()
	log.SetFlags(log.Ltime)
	if err := run(*seed, *n, *only); err != nil {
		log.Fatal(err)
	}
}

func run(seed uint64, n int, only string) error {
	_, file, _, _ := runtime.Caller(0)
	root := filepath.Dir(filepath.Dir(filepath.Dir(file)))
	all, err := sitesOf(root, mutated)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(s site) bool {
		_, same := equivalent[s.String()]
		return same || !strings.Contains(s.String(), only)
	})
	dir, err := os.MkdirTemp("", "mutation-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	log.Printf("seed %d: %d of %d places", seed, n, len(all))
	began, survivors, done := time.Now(), 0, 0
	for _, s := range chosen(all, seed) {
		if done == n {
			break
		}
		m := mutant{site: s, root: root, dir: dir}
		caught, compiles, err := m.caught()
		switch {
		case err != nil:
			return err
		case !compiles:
			continue
		case caught == "":
			survivors++
			log.Printf("SURVIVED  %s  (line %d: %s)", s, s.line, m.shown())
		default:
			log.Printf("caught    %s  (line %d: %s) by %s", s, s.line, m.shown(), caught)
		}
		done++
	}
	fmt.Printf("%d changes, %d caught, %d survived, %s\n", done, done-survivors, survivors, time.Since(began).Round(time.Second))
	if survivors > 0 {
		return fmt.Errorf("%d changes were noticed by no test", survivors)
	}
	return nil
}

// chosen puts the places in an order that the seed decides, a kind and directory after
// the other, so that a few are of all kinds. A place's rank rests on its own name: what
// changes elsewhere does not move it.
func chosen(all []site, seed uint64) []site {
	rank := func(s site) uint64 {
		h := fnv.New64a()
		fmt.Fprintf(h, "%d %s", seed, s)
		return h.Sum64()
	}
	slices.SortFunc(all, func(a, b site) int { return cmp.Compare(rank(a), rank(b)) })
	rounds := map[string]int{} // by group, how many came before
	round := make(map[string]int, len(all))
	for _, s := range all {
		group := s.kind
		round[s.String()] = rounds[group]
		rounds[group]++
	}
	slices.SortStableFunc(all, func(a, b site) int { return cmp.Compare(round[a.String()], round[b.String()]) })
	return all
}
