package quiescence

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"sluice/activities/awscall"
	"sluice/internal/quiescence"
	"sluice/internal/wire"
)

// listing polls a prefix. Whatever the number of objects, what it hands on is a
// digest of a fixed size; only onDelete other than reset keeps more, in memory.
type listing struct {
	lister ObjectLister
	source wire.S3Source
	deletions
}

// poll lists all pages. A listing that breaks off half way is no reading.
func (l *listing) poll(ctx context.Context) (quiescence.Reading, error) {
	seen := newInventory(l.source.OnDelete != wire.OnDeleteReset)
	input := &awss3.ListObjectsV2Input{Bucket: aws.String(l.source.Bucket), Prefix: aws.String(l.source.Prefix)}
	slowest := time.Duration(0)
	for {
		began := time.Now()
		page, err := l.page(ctx, input)
		slowest = max(slowest, time.Since(began))
		if err != nil {
			return quiescence.Reading{}, awscall.Failure("S3.ListObjectsV2", l.source.Bucket, err)
		}
		for _, object := range page.Contents {
			l.see(seen, object)
		}
		if !aws.ToBool(page.IsTruncated) {
			break
		}
		if aws.ToString(page.NextContinuationToken) == "" {
			return quiescence.Reading{}, fmt.Errorf("S3.ListObjectsV2 %s: a truncated page without a token", l.source.Bucket)
		}
		input.ContinuationToken = page.NextContinuationToken
	}
	reading, err := l.judge(l.source, seen)
	reading.Slowest = slowest
	return reading, err
}

func (l *listing) page(ctx context.Context, input *awss3.ListObjectsV2Input) (*awss3.ListObjectsV2Output, error) {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	return l.lister.ListObjectsV2(ctx, input)
}

func (l *listing) see(seen *inventory, object types.Object) {
	key := aws.ToString(object.Key)
	if l.source.IgnoreEmpty && (aws.ToInt64(object.Size) == 0 || strings.HasSuffix(key, "/")) {
		return
	}
	seen.add(key, fmt.Sprintf("%s\x00%s\x00%d\x00%s", key, aws.ToString(object.ETag), aws.ToInt64(object.Size),
		aws.ToTime(object.LastModified).UTC().Format(time.RFC3339Nano)))
}

// inventory is the digest of a listing: the sum of the hashes of its objects,
// which is the same in whatever order they are listed.
type inventory struct {
	count    int64
	high     uint64
	low      uint64
	objects  map[uint64]struct{} // by identity, version and size; nil where not wanted
	keys     map[uint64]struct{}
	detailed bool
}

func newInventory(detailed bool) *inventory {
	seen := &inventory{detailed: detailed}
	if detailed {
		seen.objects, seen.keys = map[uint64]struct{}{}, map[uint64]struct{}{}
	}
	return seen
}

func (i *inventory) add(key, identity string) {
	hash := sha256.Sum256([]byte(identity))
	i.count++
	i.high += binary.BigEndian.Uint64(hash[:8])
	i.low += binary.BigEndian.Uint64(hash[8:16])
	if i.detailed {
		name := sha256.Sum256([]byte(key))
		i.objects[binary.BigEndian.Uint64(hash[:8])] = struct{}{}
		i.keys[binary.BigEndian.Uint64(name[:8])] = struct{}{}
	}
}

func (i *inventory) digest() string { return fmt.Sprintf("%d-%016x%016x", i.count, i.high, i.low) }

func (i *inventory) reading(version string) quiescence.Reading {
	return quiescence.Reading{Version: version, Count: i.count, Present: i.count > 0, Cursor: i.digest()}
}
