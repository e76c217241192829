package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func write(t *testing.T, text string) fileFlag {
	name := filepath.Join(t.TempDir(), "input")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	return fileFlag{name}
}

func testApp(stdin string) *app {
	return newApp(context.Background(), cli{}, strings.NewReader(stdin), &bytes.Buffer{}, &bytes.Buffer{})
}

func TestDocumentKeepsNumbersOfAnySize(t *testing.T) {
	a := testApp("")
	raw, err := a.document(write(t, `{"n":12345678901234567890.123456789,"name":"a"}`), field{"name", "b"})
	require.NoError(t, err)
	require.JSONEq(t, `{"n":12345678901234567890.123456789,"name":"b"}`, string(raw))
	require.Contains(t, string(raw), "12345678901234567890.123456789")
}

func TestDocumentReadsYAMLAndStandardInput(t *testing.T) {
	raw, err := testApp("bucket: b\nquiet:\n  repeats: 3\n").document(fileFlag{"-"}, field{"prefix", ""}, field{"capacity", 0})
	require.NoError(t, err)
	require.JSONEq(t, `{"bucket":"b","quiet":{"repeats":3}}`, string(raw))
}

func TestDocumentKeepsWhatYAMLWouldTurn(t *testing.T) {
	raw, err := testApp("n: 12345678901234567890123.5\non: no\nyes: true\nhex: 0x10\ntext: '5'\ndate: 2026-01-02\nempty:\nlist: [1, a]\n").document(fileFlag{"-"})
	require.NoError(t, err)
	require.Equal(t, `{"n":12345678901234567890123.5,"on":"no","yes":true,"hex":16,"text":"5","date":"2026-01-02","empty":null,"list":[1,"a"]}`, string(raw))
}

func TestDocumentWithoutFileIsWhatTheFlagsSay(t *testing.T) {
	raw, err := testApp("").document(fileFlag{}, field{"bucket", "b"}, field{"on", true}, field{"delivery", map[string]string{}})
	require.NoError(t, err)
	require.JSONEq(t, `{"bucket":"b","on":true}`, string(raw))
}

func TestDocumentRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":1,}}`:    "not valid JSON",
		"a: 1\na: 2\n": "already",
		`[1]`:          "not an object",
	} {
		_, err := testApp("").document(write(t, text), field{"x", 1})
		require.ErrorContains(t, err, want, text)
	}
	_, err := testApp("").document(fileFlag{filepath.Join(t.TempDir(), "absent")})
	require.ErrorContains(t, err, "no such file")
}

func TestPrintCLI(t *testing.T) {
	a := testApp("")
	a.cli.PrintCLI = true
	a.printCLI(startCommand(launch{workflowType: "Ingest", id: "ingest/1", input: []byte(`{"bucket":"b"}`)}, "sluice"))
	require.Equal(t, `temporal workflow start --type Ingest --task-queue sluice --workflow-id ingest/1 --input '{"bucket":"b"}'`+"\n",
		a.stderr.(*bytes.Buffer).String())
}

func TestLinkEscapes(t *testing.T) {
	a := testApp("")
	a.cli.UIAddress, a.namespace = "http://localhost:8233/", "default"
	require.Equal(t, "http://localhost:8233/namespaces/default/workflows/throughput%2Fdynamodb%2Fr%2Ft%2Fread/r1/history",
		a.link("throughput/dynamodb/r/t/read", "r1"))
}

func TestCounted(t *testing.T) {
	require.Equal(t, "1 fault", counted(1, "fault"))
	require.Equal(t, "0 faults", counted(0, "fault"))
	require.Equal(t, "2 faults", counted(2, "fault"))
}
