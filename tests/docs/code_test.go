package docs_test

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Go code in the pages is code that is compiled: it stands in an example or a test, as
// it is.
func TestGoCodeOfThePagesIsCompiled(t *testing.T) {
	out, err := exec.Command("git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard", "*_test.go").Output()
	require.NoError(t, err)
	var compiled strings.Builder
	for _, name := range strings.Fields(string(out)) {
		compiled.WriteString(read(t, name))
	}
	block := regexp.MustCompile("(?ms)^```go\n(.*?)^```")
	blocks := 0
	for _, page := range pages(t) {
		for _, m := range block.FindAllStringSubmatch(read(t, page), -1) {
			blocks++
			if !strings.Contains(compiled.String(), m[1]) {
				t.Errorf("%s has Go code that no example and no test has:\n%s", page, m[1])
			}
		}
	}
	require.NotZero(t, blocks)
}
