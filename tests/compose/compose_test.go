// Package compose_test loads docker-compose.temporal.yml as `docker compose
// config` would and holds it to what it promises, without an engine.
package compose_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/stretchr/testify/require"
)

func project(t *testing.T) *types.Project {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	options, err := cli.NewProjectOptions([]string{filepath.Join(root, "docker-compose.temporal.yml")}, cli.WithWorkingDirectory(root))
	require.NoError(t, err)
	p, err := options.LoadProject(t.Context())
	require.NoError(t, err)
	return p
}

func TestComposeHasAllParts(t *testing.T) {
	p := project(t)
	for _, name := range []string{
		"postgres", "temporal-schema", "temporal", "temporal-namespace", "search-attributes", "temporal-ui",
		"moto", "azurite", "resources", "delivery", "worker",
	} {
		require.Contains(t, p.Services, name)
	}
}

func TestComposePinsEveryImage(t *testing.T) {
	pinned := regexp.MustCompile(`:[^:/]*\d+\.\d+`)
	for name, s := range project(t).Services {
		if s.Build != nil {
			continue
		}
		require.Regexp(t, pinned, s.Image, name)
		require.NotContains(t, s.Image, ":latest", name)
	}
	dockerfile, err := os.ReadFile("../../Dockerfile")
	require.NoError(t, err)
	for _, line := range strings.Split(string(dockerfile), "\n") {
		if image, ok := strings.CutPrefix(line, "FROM "); ok && !strings.HasPrefix(image, "base ") {
			require.Regexp(t, pinned, image)
		}
	}
	require.Regexp(t, `(?m)^USER 10001`, string(dockerfile), "programs don't run as root")
}

func TestComposeListensOnLoopbackOnly(t *testing.T) {
	for name, s := range project(t).Services {
		for _, port := range s.Ports {
			require.Equal(t, "127.0.0.1", port.HostIP, "%s:%s", name, port.Published)
		}
	}
}

// TestComposeStartsInOrder: a service waits for those that run on to be healthy
// and for jobs to be done, and whatever is waited for as healthy has a check.
func TestComposeStartsInOrder(t *testing.T) {
	p := project(t)
	for name, want := range map[string]map[string]string{
		"temporal-schema":    {"postgres": types.ServiceConditionHealthy},
		"temporal":           {"temporal-schema": types.ServiceConditionCompletedSuccessfully},
		"temporal-namespace": {"temporal": types.ServiceConditionHealthy},
		"search-attributes":  {"temporal-namespace": types.ServiceConditionCompletedSuccessfully},
		"temporal-ui":        {"temporal": types.ServiceConditionHealthy},
		"resources":          {"moto": types.ServiceConditionHealthy, "azurite": types.ServiceConditionHealthy},
		"delivery":           {"resources": types.ServiceConditionCompletedSuccessfully},
		"worker":             {"search-attributes": types.ServiceConditionCompletedSuccessfully, "resources": types.ServiceConditionCompletedSuccessfully},
	} {
		for needed, condition := range want {
			require.Equal(t, condition, p.Services[name].DependsOn[needed].Condition, "%s needs %s", name, needed)
			if condition == types.ServiceConditionHealthy {
				require.NotNil(t, p.Services[needed].HealthCheck, needed)
			}
		}
	}
	require.NotNil(t, p.Services["worker"].HealthCheck)
}

// The image that people run has the two programs in it, with a version, and nothing of
// the dev stack.
func TestImageOfTheProgramsHasNothingElse(t *testing.T) {
	raw, err := os.ReadFile("../../Dockerfile")
	require.NoError(t, err)
	stages := strings.Split(string(raw), "\nFROM ")
	last := stages[len(stages)-1]
	require.Contains(t, last, "base AS programs\n", "what is built by default")
	require.NotContains(t, last, "COPY")
	require.Contains(t, last, "org.opencontainers.image.version")
	built := regexp.MustCompile(`-o (/out/\S+)`).FindAllStringSubmatch(string(raw), -1)
	var programs []string
	for _, m := range built {
		programs = append(programs, m[1])
	}
	require.Equal(t, []string{"/out/worker", "/out/starter"}, programs)
	require.Equal(t, 2, strings.Count(string(raw), "-X sluice.version=${VERSION}"))
	for name, s := range project(t).Services {
		if s.Build != nil {
			require.Equal(t, "devstack", s.Build.Target, name)
		}
	}
}

// What the file's head says of running Ingest names what the resources job makes.
func TestComposeSaysHowToRunIngest(t *testing.T) {
	raw, err := os.ReadFile("../../docker-compose.temporal.yml")
	require.NoError(t, err)
	demo, err := os.ReadFile("../../devstack/stack/demo.go")
	require.NoError(t, err)
	flags := regexp.MustCompile(`--(?:bucket|queue|stream|table|delivery-bucket) ([a-z-]+)`).FindAllStringSubmatch(string(raw), -1)
	require.Len(t, flags, 5)
	for _, flag := range flags {
		require.Contains(t, string(demo), `"`+flag[1]+`"`)
	}
}
