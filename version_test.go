package sluice

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersionIsTheCommitWhereNobodyNamedOne(t *testing.T) {
	setting := func(key, value string) debug.BuildSetting { return debug.BuildSetting{Key: key, Value: value} }
	commit := setting("vcs.revision", "0123456789abcdef0123456789abcdef01234567")
	for want, info := range map[string]debug.BuildInfo{
		"v1.2.3":                {Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{commit}},
		"0123456789ab":          {Main: debug.Module{Version: "(devel)"}, Settings: []debug.BuildSetting{commit}},
		"0123456789ab-modified": {Settings: []debug.BuildSetting{commit, setting("vcs.modified", "true")}},
		"devel":                 {},
	} {
		require.Equal(t, want, fromBuild(&info))
	}
	require.NotEmpty(t, Version())
}
