package stack

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEnvironmentFileIsShell(t *testing.T) {
	values := []string{"plain", "", "a b", "it's", `"$HOME" \ ;` + "`x`", "K=v;Key==", "two\nlines"}
	path := filepath.Join(t.TempDir(), "env")
	for _, value := range values {
		require.NoError(t, Env{{"V", value}}.write(path))
		out, err := exec.Command("sh", "-c", `. "$0" && printf %s "$V"`, path).CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Equal(t, value, string(out))
	}
	folder := filepath.Join(t.TempDir(), "it's a bin")
	require.NoError(t, os.Mkdir(folder, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "starter"), []byte("#!/bin/sh\necho found"), 0o755))
	require.NoError(t, Env{}.write(path, folder, "/second"))
	out, err := exec.Command("sh", "-c", `. "$0" && starter && echo "$PATH"`, path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "found\n"+folder+":/second:"+os.Getenv("PATH")+"\n", string(out))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "it has a key")
}
