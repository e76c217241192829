package activities

import (
	"bufio"
	"context"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/klauspost/compress/gzip"
)

// decompressed reads gzip as what it holds and everything else as it stands.
func decompressed(r io.Reader) (io.Reader, error) {
	buffered := bufio.NewReader(r)
	if magic, err := buffered.Peek(2); err != nil || magic[0] != 0x1f || magic[1] != 0x8b {
		return buffered, nil
	}
	return gzip.NewReader(buffered)
}

// countRecords counts the records of a source object whose task wrote no
// progress.
func (i *Ingest) countRecords(ctx context.Context, p IngestPlan, o ingestObject) (int64, error) {
	object, err := i.S3.GetObject(ctx, &s3.GetObjectInput{Bucket: &p.Bucket, Key: aws.String(o.Key)})
	if err != nil {
		return 0, awsFailure("S3.GetObject", p.Bucket+"/"+o.Key, err)
	}
	defer object.Body.Close()
	body, err := decompressed(object.Body)
	if err != nil {
		return 0, err
	}
	var n int64
	lines := bufio.NewReaderSize(body, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 1 || len(line) == 1 && line[0] != '\n' {
			n++
		}
		if err != nil {
			if err == io.EOF {
				err = nil
			}
			return n, err
		}
	}
}
