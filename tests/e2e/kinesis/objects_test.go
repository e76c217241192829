package kinesis_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"sluice/activities"
	"sluice/activities/kinesis"
)

// compressed is a text as gzip or zstd has it.
func compressed(t *testing.T, coding, text string) string {
	var b bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&b)
	if coding == "zstd" {
		z, err := zstd.NewWriter(&b)
		require.NoError(t, err)
		w = z
	}
	_, err := io.WriteString(w, text)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

// TestObjectsOfEveryFormat puts objects of each format and coding to one stream;
// the records say which they come from.
func TestObjectsOfEveryFormat(t *testing.T) {
	w := newWorld(t, 2)
	const n = 300
	var lines, array, table strings.Builder
	array.WriteString("[")
	table.WriteString("of,id,note\r\n")
	for i := range n {
		fmt.Fprintf(&lines, `{"of":"NAME","id":"%d","note":"é, \"%d\""}`+"\n", i, i)
		fmt.Fprintf(&array, `{"of":"NAME","id":"%d","note":"é, \"%d\""},`+"\n ", i, i)
		fmt.Fprintf(&table, "NAME,%d,\"é, \"\"%d\"\"\"\r\n", i, i)
	}
	texts := map[string]string{"lines": lines.String(), "json-array": strings.TrimRight(array.String(), ", \n") + "]", "csv": table.String()}
	type object struct{ format, coding, fields string }
	objects := map[string]object{}
	for format := range texts {
		for _, coding := range []string{"plain", "gzip", "zstd"} {
			objects[format+"."+coding] = object{format, coding, `"PartitionKey":"id"`}
		}
	}
	objects["constant"] = object{"lines", "plain", "\"PartitionKey\":\"`one`\""}
	objects["hash"] = object{"csv", "gzip", `"PartitionKey":""`}
	objects["enveloped"] = object{"csv", "zstd", `"PartitionKey":"id","Envelope":true,"Run":"r"`}
	for name, o := range objects {
		text := strings.ReplaceAll(texts[o.format], "NAME", name)
		if o.coding != "plain" {
			text = compressed(t, o.coding, text)
		}
		described, err := json.Marshal(w.object(name, text))
		require.NoError(t, err)
		var out kinesis.PutRecordsOutput
		w.run("Kinesis.PutObject", fmt.Sprintf(`{"StreamName":%q,"Object":%s,"Format":%q,%s}`, w.stream, described, o.format, o.fields), &out)
		require.EqualValues(t, n, out.RecordCount, name)
		require.EqualValues(t, n, out.StoredRecordCount, name)
	}
	ids := map[string]map[string]bool{}
	for _, r := range w.read() {
		var record struct{ Of, ID, Note string }
		data := r.Data
		var envelope struct {
			ID   string
			Data json.RawMessage
		}
		require.NoError(t, json.Unmarshal(data, &envelope))
		if envelope.Data != nil {
			data = envelope.Data
		}
		require.NoError(t, json.Unmarshal(data, &record), "%s", r.Data)
		require.Equal(t, fmt.Sprintf(`é, "%s"`, record.ID), record.Note)
		switch key := aws.ToString(r.PartitionKey); record.Of {
		case "constant":
			require.Equal(t, "one", key)
		case "hash":
			require.Len(t, key, 16)
		default:
			require.Equal(t, record.ID, key)
		}
		if record.Of == "enveloped" {
			require.True(t, strings.HasPrefix(envelope.ID, "r/") && strings.HasSuffix(envelope.ID, "/enveloped#"+record.ID), envelope.ID)
			require.True(t, bytes.HasSuffix(r.Data, []byte("\n")))
		}
		if ids[record.Of] == nil {
			ids[record.Of] = map[string]bool{}
		}
		require.False(t, ids[record.Of][record.ID], "twice")
		ids[record.Of][record.ID] = true
	}
	require.Len(t, ids, len(objects))
	for name, seen := range ids {
		require.Len(t, seen, n, name)
	}
}

// TestAnObjectThatHasChangedIsAConflict: by the ETag that it was described with,
// and by the one that an earlier attempt pinned.
func TestAnObjectThatHasChangedIsAConflict(t *testing.T) {
	w := newWorld(t, 1)
	object := w.object("data", "a\nb\nc\n")
	pinned := object.ETag
	_, err := w.S3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &object.Bucket, Key: &object.Key, Body: strings.NewReader("a\nb\nc\nd\n")})
	require.NoError(t, err)
	put := func(etag string) error {
		object.ETag = etag
		described, err := json.Marshal(object)
		require.NoError(t, err)
		_, err = w.activity.ExecuteActivity("Kinesis.PutObject", json.RawMessage(fmt.Sprintf(`{"StreamName":%q,"Object":%s}`, w.stream, described)))
		return err
	}
	err = put(pinned)
	require.Equal(t, activities.TypeConflict, activities.TypeOf(err), "%v", err)
	require.Contains(t, err.Error(), pinned)
	w.activity.SetHeartbeatDetails(map[string]any{"next": 1, "offset": 2, "etag": pinned})
	err = put("")
	require.Equal(t, activities.TypeConflict, activities.TypeOf(err), "%v", err)
	require.Empty(t, w.read())
}
