// Package layering_test holds the tree to its arrows: worker and starter use the
// root package, this uses workflows and activities, these use internal; nothing
// points back up.
package layering_test

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type goPackage struct {
	ImportPath string
	Imports    []string
}

func list(t *testing.T) []goPackage {
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "sluice/...")
	out, err := cmd.Output()
	require.NoError(t, err)
	var packages []goPackage
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	for decoder.More() {
		var p goPackage
		require.NoError(t, decoder.Decode(&p))
		packages = append(packages, p)
	}
	require.NotEmpty(t, packages)
	return packages
}

func under(path, prefix string) bool { return path == prefix || strings.HasPrefix(path, prefix+"/") }

// isEdge tells the packages of internal/ that serve programs, not rules: they
// make clients and may know the SDKs.
func isEdge(path string) bool { return under(path, "sluice/internal/connect") }

func TestArrowsPointDown(t *testing.T) {
	forbidden := map[string][]string{
		"sluice/workflows":        {"sluice/worker", "sluice/starter", "sluice/tests", "sluice/internal/connect", "github.com/aws", "github.com/Azure"},
		"sluice/activities":       {"sluice/workflows", "sluice/worker", "sluice/starter", "sluice/tests", "sluice/internal/connect"},
		"sluice/internal":         {"sluice/activities", "sluice/workflows", "sluice/worker", "sluice/starter", "sluice/tests"},
		"sluice/worker":           {"sluice/starter", "sluice/tests"},
		"sluice/starter":          {"sluice/worker", "sluice/tests"},
		"sluice/internal/connect": {"sluice/workflows", "sluice/worker", "sluice/starter", "sluice/tests"},
	}
	for _, p := range list(t) {
		for from, targets := range forbidden {
			if !under(p.ImportPath, from) {
				continue
			}
			for _, imported := range p.Imports {
				for _, target := range targets {
					require.Falsef(t, under(imported, target), "%s imports %s", p.ImportPath, imported)
				}
			}
		}
	}
}

// TestRulesKnowNoSDK keeps the rules testable without a network: no Temporal,
// AWS or Azure package, and nothing that reads the environment.
func TestRulesKnowNoSDK(t *testing.T) {
	for _, p := range list(t) {
		if !under(p.ImportPath, "sluice/internal") || isEdge(p.ImportPath) {
			continue
		}
		for _, imported := range p.Imports {
			for _, sdk := range []string{"go.temporal.io", "github.com/aws", "github.com/Azure", "net/http", "os", "sluice/activities"} {
				require.Falsef(t, under(imported, sdk), "%s imports %s", p.ImportPath, imported)
			}
		}
	}
}

// TestRulesAreHandedTheTime looks for calls that read the clock or draw numbers
// in rules; time and randomness come as arguments.
func TestRulesAreHandedTheTime(t *testing.T) {
	for _, pattern := range []string{`time\.\(Now\|Sleep\|After\|NewTimer\|NewTicker\|Since\|Until\)(`, `rand\.[A-Z][a-z0-9A-Z]*(`} {
		cmd := exec.Command("grep", "-rn", "--include=*.go", "--exclude=*_test.go", "--exclude-dir=connect", pattern, "../../internal")
		out, _ := cmd.Output() // grep exits 1 when it finds nothing, which is the hope
		require.Empty(t, string(out))
	}
}

// TestOnlyProgramsReadTheEnvironment: configuration enters in main.
func TestOnlyProgramsReadTheEnvironment(t *testing.T) {
	cmd := exec.Command("grep", "-rnE", "--include=*.go", "--exclude=*_test.go", `os\.(Getenv|LookupEnv|Environ)\(`,
		"../../workflows", "../../activities", "../../internal")
	out, _ := cmd.Output()
	require.Empty(t, string(out))
}
