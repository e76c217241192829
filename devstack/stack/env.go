package stack

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sluice/devstack/guard"
)

// Env is the environment of a client of the stack, in order.
type Env []Variable

// Variable is one entry of an Env.
type Variable struct{ Name, Value string }

func environment(cfg Config, started map[string]*part, binary string, g *guard.Guard, account azureAccount) Env {
	temporal := started["temporal"]
	env := Env{
		{"TEMPORAL_ADDRESS", temporal.address},
		{"TEMPORAL_NAMESPACE", cfg.Namespace},
		{"TEMPORAL_CLI", binary},
		// Any credentials do; these keep the SDK from looking for real ones.
		{"AWS_REGION", "us-east-1"},
		{"AWS_ACCESS_KEY_ID", "devstack"},
		{"AWS_SECRET_ACCESS_KEY", "devstack"},
		{"AWS_EC2_METADATA_DISABLED", "true"},
		{"AWS_ENDPOINT_URL_DYNAMODB", g.URL(guard.DynamoDB)},
		{"AWS_ENDPOINT_URL_KINESIS", g.URL(guard.Kinesis)},
		{"AWS_ENDPOINT_URL_S3", g.URL(guard.S3)},
		{"AWS_ENDPOINT_URL_SQS", g.URL(guard.SQS)},
		{"AWS_ENDPOINT_URL_STS", "http://" + started["kumo"].address}, // asked once, whose account it is
		{"AZURE_STORAGE_CONNECTION_STRING", account.connectionString(g.URL(guard.AzQueue))},
		{"SLUICE_GUARD_ADMIN", g.AdminURL()},
		{"SLUICE_TEMPORAL_METRICS", "http://" + temporal.metrics + "/metrics"},
	}
	if temporal.ui != "" {
		env = append(env, Variable{"SLUICE_UI_ADDRESS", "http://" + temporal.ui})
	}
	return env
}

// Map answers the environment by name.
func (e Env) Map() map[string]string {
	m := make(map[string]string, len(e))
	for _, v := range e {
		m[v.Name] = v.Value
	}
	return m
}

// List answers the environment as os.Environ does.
func (e Env) List() []string {
	list := make([]string, len(e))
	for i, v := range e {
		list[i] = v.Name + "=" + v.Value
	}
	return list
}

// programs are the folders in which a shell finds what speaks to the stack: this
// program's, where worker and starter are built too, and the temporal command's.
func programs(temporal string) []string {
	var folders []string
	if self, err := os.Executable(); err == nil {
		folders = append(folders, filepath.Dir(self))
	}
	if folder := filepath.Dir(temporal); filepath.IsAbs(folder) && !slices.Contains(folders, folder) {
		folders = append(folders, folder)
	}
	return folders
}

// write makes a file that a shell can source, with the folders in front of its PATH. It
// is there whole or not at all, and only its owner reads it.
func (e Env) write(path string, folders ...string) error {
	var b strings.Builder
	b.WriteString("# The running dev stack. Use: . " + path + "\n")
	for _, folder := range slices.Backward(folders) {
		fmt.Fprintf(&b, "export PATH=%s:\"$PATH\"\n", quote(folder))
	}
	for _, v := range e {
		fmt.Fprintf(&b, "export %s=%s\n", v.Name, quote(v.Value))
	}
	temporary := path + ".new"
	if err := os.WriteFile(temporary, []byte(b.String()), 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}

// quote makes one word of a POSIX shell.
func quote(value string) string {
	plain := !strings.ContainsFunc(value, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || slices.Contains([]rune("_-./:@%+,"), r))
	})
	if plain && value != "" {
		return value
	}
	return "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
}
