package s3event

import (
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// bridged reads an EventBridge event of S3. Keys are not encoded there.
func bridged(detailType string, at time.Time, raw json.RawMessage) (Message, error) {
	var detail struct {
		DeletionType string `json:"deletion-type"`
		Bucket       struct {
			Name string `json:"name"`
		} `json:"bucket"`
		Object struct {
			Key       string `json:"key"`
			Size      int64  `json:"size"`
			ETag      string `json:"etag"`
			VersionID string `json:"version-id"`
			Sequencer string `json:"sequencer"`
		} `json:"object"`
	}
	kind := Created
	switch detailType {
	case "Object Created":
	case "Object Deleted":
		kind = Removed
	default:
		return Message{Passed: 1}, nil
	}
	if err := json.Unmarshal(raw, &detail); err != nil {
		return Message{}, err
	}
	if detail.Bucket.Name == "" || detail.Object.Key == "" {
		return Message{}, errors.New("detail: no bucket or no key")
	}
	if kind == Removed && detail.DeletionType == "Delete Marker Created" {
		kind = Marker
	}
	event := Event{
		Kind:    kind,
		Bucket:  detail.Bucket.Name,
		Key:     detail.Object.Key,
		Version: versionID(detail.Object.VersionID),
		ETag:    strings.Trim(detail.Object.ETag, `"`),
		Size:    detail.Object.Size,
		Stamp:   Stamp{Sequencer: detail.Object.Sequencer, At: at},
	}
	if err := event.checkSize(); err != nil {
		return Message{}, err
	}
	return Message{Events: []Event{event}}, nil
}
