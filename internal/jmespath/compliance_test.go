package jmespath

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCompliance runs the language's own test suite, which the reference
// implementation in Go brings along.
func TestCompliance(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/jmespath/go-jmespath").Output()
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "compliance", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	ran := 0
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		var suites []struct {
			Given any
			Cases []struct {
				Expression, Error string
				Result            any
			}
		}
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.UseNumber()
		require.NoError(t, decoder.Decode(&suites))
		for _, suite := range suites {
			for _, c := range suite.Cases {
				what := fmt.Sprintf("%s: %s", filepath.Base(file), c.Expression)
				value, err := searchText(c.Expression, suite.Given)
				ran++
				if c.Error != "" {
					require.Error(t, err, what)
					continue
				}
				require.NoError(t, err, what)
				requireSame(t, c.Result, value, what)
			}
		}
	}
	require.Greater(t, ran, 700)
}

func searchText(text string, data any) (any, error) {
	e, err := Compile(text)
	if err != nil {
		return nil, err
	}
	return e.Search(data, Unlimited())
}

// requireSame compares two values as JSON, numbers by their value.
func requireSame(t require.TestingT, want, got any, what string) {
	same, err := (&interpreter{budget: Unlimited()}).same(want, got)
	require.NoError(t, err, what)
	require.True(t, same, "%s: want %v, got %v", what, want, got)
}
