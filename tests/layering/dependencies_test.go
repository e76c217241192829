package layering_test

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// licences tells a licence by words that only its text has.
var licences = []struct{ name, words string }{
	{"Apache-2.0", "Apache License"},
	{"MPL-2.0", "Mozilla Public License Version 2.0"},
	{"BSD-3-Clause", "Redistribution and use in source and binary forms"},
	{"MIT", "Permission is hereby granted, free of charge"},
}

// listed are the dependencies that docs/dependencies.md names, with their licences.
func listed(t *testing.T) map[string]string {
	raw, err := os.ReadFile("../../docs/dependencies.md")
	require.NoError(t, err)
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([^|]+) \\| ([^|]+) \\|$").FindAllStringSubmatch(string(raw), -1)
	all := map[string]string{}
	for _, row := range rows {
		require.NotEmpty(t, strings.TrimSpace(row[2]), "%s has no reason", row[1])
		all[row[1]] = strings.TrimSpace(row[3])
	}
	return all
}

// Every direct dependency is pinned, and docs/dependencies.md has its reason and the
// licence that it comes under; it lists nothing else.
func TestDependenciesAreListedWithReasonAndLicence(t *testing.T) {
	known, used := listed(t), map[string]string{}
	for _, module := range []string{"../..", "../../devstack"} {
		cmd := exec.Command("go", "list", "-m", "-f", "{{if not .Indirect}}{{if not .Main}}{{.Path}} {{.Dir}}{{end}}{{end}}", "all")
		cmd.Dir = module
		out, err := cmd.Output()
		require.NoError(t, err)
		for line := range strings.Lines(string(out)) {
			if path, dir, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
				used[path] = licenceIn(t, dir)
			}
		}
	}
	maps.Copy(used, npmLicences(t, "../../devstack"))
	maps.Copy(used, npmLicences(t, "../e2e/languages/typescript"))
	require.Equal(t, used, known)
}

// licenceIn tells the licences of the module in dir.
func licenceIn(t *testing.T, dir string) string {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		if name := strings.ToLower(e.Name()); !strings.HasPrefix(name, "licen") && !strings.HasPrefix(name, "copying") {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		text := strings.Join(strings.Fields(string(raw)), " ")
		var all []string // some come under several, for their parts
		for _, l := range licences {
			if strings.Contains(text, l.words) {
				all = append(all, l.name)
			}
		}
		return strings.Join(all, ", ")
	}
	return "unknown"
}

// npmLicences are those of the packages in dir, whose versions have to be exact.
func npmLicences(t *testing.T, dir string) map[string]string {
	var wanted struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	var locked struct {
		Packages map[string]struct{ Version, License string } `json:"packages"`
	}
	for file, into := range map[string]any{"package.json": &wanted, "package-lock.json": &locked} {
		raw, err := os.ReadFile(filepath.Join(dir, file))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(raw, into))
	}
	all := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(wanted.Dependencies)) {
		p := locked.Packages["node_modules/"+name]
		require.Equal(t, wanted.Dependencies[name], p.Version, "%s is not pinned to what is locked", name)
		all[name] = p.License
	}
	return all
}
