package guard

import (
	"bytes"
	"context"
	"encoding/base64"
	"hash/crc32"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// s3 gives kumo's objects the checksums that clients verify, notes the order of
// writes for their events, and announces removals, which kumo does not.
type s3 struct {
	to      *upstream
	objects *objects
}

func (s *s3) identify(c *call) error {
	bucket, key := bucketAndKey(c.r)
	c.target, c.object = bucket, bucket+"/"+key
	c.operation = s3Operation(c.r, bucket, key)
	return nil
}

// bucketAndKey reads a path-style address.
func bucketAndKey(r *http.Request) (bucket, key string) {
	bucket, key, _ = strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	return bucket, key
}

// s3Operation names the operation as the API does, as far as anybody here uses it.
func s3Operation(r *http.Request, bucket, key string) string {
	query := r.URL.Query()
	switch {
	case bucket == "":
		return "ListBuckets"
	case key == "":
		return bucketOperation(r.Method, query)
	}
	upload := query.Has("uploadId")
	copies := r.Header.Get("X-Amz-Copy-Source") != ""
	switch r.Method + map[bool]string{true: "+upload"}[upload] {
	case "GET":
		return "GetObject"
	case "HEAD":
		return "HeadObject"
	case "PUT":
		if copies {
			return "CopyObject"
		}
		return "PutObject"
	case "DELETE":
		return "DeleteObject"
	case "POST":
		if query.Has("uploads") {
			return "CreateMultipartUpload"
		}
	case "PUT+upload":
		return "UploadPart"
	case "POST+upload":
		return "CompleteMultipartUpload"
	case "DELETE+upload":
		return "AbortMultipartUpload"
	}
	return r.Method
}

func bucketOperation(method string, query url.Values) string {
	switch {
	case method == http.MethodGet && query.Has("notification"):
		return "GetBucketNotificationConfiguration"
	case method == http.MethodPut && query.Has("notification"):
		return "PutBucketNotificationConfiguration"
	case method == http.MethodGet && query.Has("versions"):
		return "ListObjectVersions"
	case method == http.MethodGet && query.Get("list-type") == "2":
		return "ListObjectsV2"
	case method == http.MethodGet && len(query) == 0:
		return "ListObjects"
	case method == http.MethodPost && query.Has("delete"):
		return "DeleteObjects"
	case method == http.MethodPut && len(query) == 0:
		return "CreateBucket"
	case method == http.MethodDelete && len(query) == 0:
		return "DeleteBucket"
	case method == http.MethodHead:
		return "HeadBucket"
	}
	return method
}

func (s *s3) refuse(_ *call, status int, code, message string) *answer {
	return xmlAnswer(status, code, message, http.Header{"X-Amz-Request-Id": {requestID()}})
}

func (s *s3) work(ctx context.Context, c *call) (*answer, error) {
	bucket, key := bucketAndKey(c.r)
	removed, err := s.aboutToRemove(ctx, c, bucket, key)
	if err != nil {
		return nil, err
	}
	a, err := s.to.send(ctx, c, c.sentBody())
	if err != nil || a.status >= http.StatusMultipleChoices {
		return a, err
	}
	switch c.operation {
	case "PutObject", "CopyObject", "CompleteMultipartUpload":
		if err := s.noteWrite(c, a, bucket, key); err != nil {
			return nil, err
		}
	case "GetObject":
		return a, s.addChecksum(ctx, c, a, bucket, key)
	case "DeleteObject", "DeleteObjects":
		s.objects.announceRemovals(context.WithoutCancel(ctx), bucket, removed)
	}
	return a, nil
}

// noteWrite remembers a new version's place in the order of writes and the
// checksum that it was sent with.
func (s *s3) noteWrite(c *call, a *answer, bucket, key string) error {
	etag := a.header.Get("Etag")
	if etag == "" { // in the document
		text, err := a.whole()
		if err != nil {
			return err
		}
		etag = between(string(text), "<ETag>", "</ETag>")
	}
	s.objects.written(version{bucket, key, cleanETag(etag)}, c.r.Header.Get("X-Amz-Checksum-Crc32"))
	return nil
}

func between(text, start, end string) string {
	_, text, _ = strings.Cut(text, start)
	text, _, _ = strings.Cut(text, end)
	return text
}

// cleanETag takes the quotes off, which documents may spell in three ways.
func cleanETag(etag string) string {
	return strings.Trim(strings.NewReplacer("&quot;", "", "&#34;", "").Replace(etag), `"`)
}

// sumUpTo is up to what size a body is held to sum it up; a larger one is read
// twice.
const sumUpTo = 16 << 20

// addChecksum answers what `x-amz-checksum-mode: ENABLED` asks for.
func (s *s3) addChecksum(ctx context.Context, c *call, a *answer, bucket, key string) error {
	if c.r.Header.Get("X-Amz-Checksum-Mode") != "ENABLED" || a.status != http.StatusOK || a.header.Get("X-Amz-Checksum-Crc32") != "" {
		return nil
	}
	v := version{bucket, key, cleanETag(a.header.Get("Etag"))}
	checksum := s.objects.checksum(v)
	if checksum == "" {
		var err error
		if checksum, err = s.sumUp(ctx, c, a); err != nil {
			return err
		}
		s.objects.setChecksum(v, checksum)
	}
	a.header.Set("X-Amz-Checksum-Crc32", checksum)
	a.header.Set("X-Amz-Checksum-Type", "FULL_OBJECT")
	return nil
}

// sumUp reads the object for its checksum and leaves an answer to be sent.
func (s *s3) sumUp(ctx context.Context, c *call, a *answer) (string, error) {
	digest := crc32.NewIEEE()
	if a.length >= 0 && a.length <= sumUpTo {
		text, err := a.whole()
		_, _ = digest.Write(text) // never fails
		return base64.StdEncoding.EncodeToString(digest.Sum(nil)), err
	}
	if _, err := io.Copy(digest, a.body); err != nil {
		return "", err
	}
	a.close()
	again, err := s.to.send(ctx, c, nil)
	if err != nil {
		return "", err
	}
	*a = *again
	return base64.StdEncoding.EncodeToString(digest.Sum(nil)), nil
}

// get makes a GET of the guard's own.
func (u *upstream) get(ctx context.Context, pathAndQuery string) (int, []byte, error) {
	out, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+u.address+pathAndQuery, nil)
	if err != nil {
		return 0, nil, err
	}
	a, err := u.do(out)
	if err != nil {
		return 0, nil, err
	}
	defer a.close()
	var b bytes.Buffer
	_, err = io.Copy(&b, a.body)
	return a.status, b.Bytes(), err
}
