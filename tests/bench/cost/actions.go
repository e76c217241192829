package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// actions are Actions of one namespace by what they were for: the server's
// action_type, and of a call the operation.
type actions map[string]float64

func (a actions) total() (sum float64) {
	for _, n := range a {
		sum += n
	}
	return sum
}

// since is what has been added after before.
func (a actions) since(before actions) actions {
	added := actions{}
	for what, n := range a {
		if n > before[what] {
			added[what] = n - before[what]
		}
	}
	return added
}

// of counts the Actions whose name contains one of these words.
func (a actions) of(words ...string) (sum float64) {
	for what, n := range a {
		if slices.ContainsFunc(words, func(word string) bool { return strings.Contains(what, word) }) {
			sum += n
		}
	}
	return sum
}

func (a actions) String() string {
	names := slices.SortedFunc(maps.Keys(a), func(x, y string) int {
		return cmp.Or(cmp.Compare(a[y], a[x]), strings.Compare(x, y))
	})
	parts := make([]string, len(names))
	for i, name := range names {
		parts[i] = fmt.Sprintf("%s %.4g", name, a[name])
	}
	return strings.Join(parts, ", ")
}

// server tells the counter `action` of a Temporal server.
type server struct{ url string }

var (
	sample = regexp.MustCompile(`^action(?:_total)?\{(.*)\} (\S+)$`)
	label  = regexp.MustCompile(`(\w+)="([^"]*)"`)
)

// untilTold is how late the server tells what it has counted: it does so every second.
const untilTold = 3 * time.Second

// read answers the Actions counted so far, by namespace.
func (s server) read(ctx context.Context) (map[string]actions, error) {
	time.Sleep(untilTold)
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("the server's metrics: %w", err)
	}
	defer response.Body.Close()
	return parse(response.Body)
}

func parse(metrics io.Reader) (map[string]actions, error) {
	counted := map[string]actions{}
	lines := bufio.NewScanner(metrics)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		match := sample.FindStringSubmatch(lines.Text())
		if match == nil {
			continue
		}
		n, err := strconv.ParseFloat(match[2], 64)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", lines.Text(), err)
		}
		labels := map[string]string{}
		for _, l := range label.FindAllStringSubmatch(match[1], -1) {
			labels[l[1]] = l[2]
		}
		namespace, what := labels["namespace"], strings.TrimPrefix(strings.TrimPrefix(labels["action_type"], "grpc_"), "command_")
		if counted[namespace] == nil {
			counted[namespace] = actions{}
		}
		counted[namespace][what] += n
	}
	return counted, lines.Err()
}
