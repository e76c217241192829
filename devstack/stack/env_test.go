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
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "it has a key")
}
