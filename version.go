package sluice

import (
	"cmp"
	"runtime/debug"
)

// version is set when a release or an image is built:
// -ldflags "-X sluice.version=v1.2.3".
var version string //nolint:gochecknoglobals // set by the linker

// Version is the version that was built: as the build named it, else the commit.
func Version() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return fromBuild(info)
}

// shortCommit is as many digits as git shows.
const shortCommit = 12

func fromBuild(info *debug.BuildInfo) string {
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	commit := settings["vcs.revision"]
	commit = commit[:min(len(commit), shortCommit)]
	if commit != "" && settings["vcs.modified"] == "true" {
		commit += "-modified"
	}
	return cmp.Or(commit, "devel")
}
