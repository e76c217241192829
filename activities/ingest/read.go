package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"sluice/activities"
	"sluice/activities/s3"
	"sluice/internal/ingestion"
	"sluice/internal/objectrecords"
	"sluice/internal/wire"
)

// deliveriesAtOnce is how many deliveries of one object are handed on together, so
// that one of any size takes little memory.
const deliveriesAtOnce = 4096

// eachRecord calls each for every record of an object, compressed or not. What
// comes before a place that can't be read has been told when it fails.
func (i *Activities) eachRecord(ctx context.Context, o s3.Object, format string, each func(record []byte) error) error {
	body, _, err := i.Objects.OpenObject(ctx, o, 0)
	if err != nil {
		return err
	}
	defer body.Close()
	coding, text, err := objectrecords.Recognise(body)
	if err != nil {
		return err
	}
	decoded, err := objectrecords.Decode(coding, text)
	if err != nil {
		return broken(o, err)
	}
	defer decoded.Close()
	records, err := objectrecords.NewReader(format, decoded, 0, nil)
	for err == nil {
		var record objectrecords.Record
		if record, err = records.Next(); err == nil {
			err = each(record.Data)
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return broken(o, err)
}

// broken makes a fault of the text the InvalidInput that it is.
func broken(o s3.Object, err error) error {
	var format *objectrecords.FormatError
	if errors.As(err, &format) {
		return activities.Invalid("read "+o.Bucket+"/"+o.Key, err)
	}
	return err
}

// countRecords counts the records of a source object whose task wrote no
// progress: of the version that was listed, up to where it can't be read.
func (i *Activities) countRecords(ctx context.Context, p wire.IngestPlan, o listedObject) (n int64, err error) {
	object := s3.Object{Bucket: p.Bucket, Key: o.Key, ETag: strings.Trim(o.ETag, `"`)}
	err = i.eachRecord(ctx, object, p.Format, func([]byte) error { n++; return nil })
	return n, err
}

// readDeliveries sends which of the run's records a delivered object holds, one a
// line. Other lines are passed over: the stream may have other producers.
func (i *Activities) readDeliveries(ctx context.Context, p wire.IngestPlan, key string, to chan<- found) error {
	var deliveries []delivery
	send := func(err error) error {
		select {
		case to <- found{key: key, deliveries: deliveries, err: err}:
			deliveries = nil
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	err := i.eachRecord(ctx, s3.Object{Bucket: p.DeliveryBucket, Key: key}, objectrecords.Lines, func(line []byte) error {
		var record struct {
			ID string `json:"id"`
		}
		if json.Unmarshal(line, &record) != nil {
			return nil //nolint:nilerr // a stranger's record
		}
		object, n, ok := ingestion.Split(p.Run, record.ID)
		if !ok {
			return nil
		}
		if deliveries = append(deliveries, delivery{object, n}); len(deliveries) < deliveriesAtOnce {
			return nil
		}
		return send(nil)
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return send(err)
}
