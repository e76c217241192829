package awscall

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/middleware"
	"github.com/stretchr/testify/require"
)

// S3 writes keys as they are unless it is asked to encode them; with a control
// character in one the answer is no XML.
func TestListingsWithControlCharactersInKeysAreRead(t *testing.T) {
	keys := []string{"in\x10put.txt", "a b+c%20d", "line\nbreak", "\x01\x1f", "é/&<>.txt", "plain.txt"}
	for _, encodes := range []bool{true, false} {
		want := keys
		if !encodes {
			want = []string{"a%20b+c", "plain.txt"} // an emulator that does not know of it
		}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			kind, encode := "", func(key string) string { return key }
			if encodes && r.URL.Query().Get("encoding-type") == "url" {
				kind, encode = "<EncodingType>url</EncodingType>", url.QueryEscape
			}
			fmt.Fprint(w, `<ListBucketResult>`+kind)
			for _, key := range want {
				fmt.Fprintf(w, "<Contents><Key>%s</Key><Size>1</Size></Contents>", encode(key))
			}
			fmt.Fprint(w, `</ListBucketResult>`)
		}))
		api := awss3.New(awss3.Options{Region: "r", BaseEndpoint: &server.URL, UsePathStyle: true,
			Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""), APIOptions: []func(*middleware.Stack) error{AddEncodedListing}})
		answer, err := api.ListObjectsV2(t.Context(), &awss3.ListObjectsV2Input{Bucket: aws.String("b")})
		server.Close()
		require.NoError(t, err)
		var got []string
		for _, o := range answer.Contents {
			got = append(got, *o.Key)
		}
		require.Equal(t, want, got)
	}
}
