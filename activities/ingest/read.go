package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"sluice/activities"
	"sluice/activities/s3"
	"sluice/internal/objectrecords"
	"sluice/internal/wire"
)

// eachRecord calls each for every record of an object, compressed or not.
func (i *Activities) eachRecord(ctx context.Context, o s3.Object, format string, each func(record []byte)) (err error) {
	body, _, err := i.Objects.OpenObject(ctx, o, 0)
	if err != nil {
		return err
	}
	coding, text, err := objectrecords.Recognise(body)
	if err != nil {
		return errors.Join(err, body.Close())
	}
	decoded, err := objectrecords.Decode(coding, text)
	if err != nil {
		return errors.Join(activities.Invalid("read "+o.Bucket+"/"+o.Key, err), body.Close())
	}
	source := s3.CloseBoth(decoded, body)
	defer func() { err = errors.Join(err, source.Close()) }()
	records, err := objectrecords.NewReader(format, source, 0, nil)
	for err == nil {
		var record objectrecords.Record
		if record, err = records.Next(); err == nil {
			each(record.Data)
		}
	}
	var broken *objectrecords.FormatError
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case errors.As(err, &broken):
		return activities.Invalid("read "+o.Bucket+"/"+o.Key, err)
	default:
		return err
	}
}

// countRecords counts the records of a source object whose task wrote no
// progress.
func (i *Activities) countRecords(ctx context.Context, p wire.IngestPlan, o listedObject) (n int64, err error) {
	err = i.eachRecord(ctx, s3.Object{Bucket: p.Bucket, Key: o.Key}, p.Format, func([]byte) { n++ })
	return n, err
}

// readIDs sends the ids of the records in a delivered object, which are one a
// line. Lines that are no records of ours are passed over: the stream may have
// other producers.
func (i *Activities) readIDs(ctx context.Context, bucket, key string, to chan<- []string) error {
	var ids []string
	err := i.eachRecord(ctx, s3.Object{Bucket: bucket, Key: key}, objectrecords.Lines, func(line []byte) {
		var record struct {
			ID string `json:"id"`
		}
		if json.Unmarshal(line, &record) == nil && record.ID != "" {
			ids = append(ids, record.ID)
		}
	})
	if err != nil {
		return err
	}
	select {
	case to <- ids:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
