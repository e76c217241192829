package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"sluice/internal/recordbatch"
)

// handWritten is a plain program without the SDK but for its signer: full
// requests, so many in flight, their bodies and answers in memory that is used
// again. It repeats nothing, keeps no order and no books: it shows how near to what
// the machine can do a producer comes.
type handWritten struct {
	lists  [][]recordbatch.Record
	body   func(dst []byte, records []recordbatch.Record) []byte
	kind   string // the content type
	url    string
	at     int // requests in flight
	client *http.Client
}

func newHandWritten(url string, size, at int, kind string, body func([]byte, []recordbatch.Record) []byte) *handWritten {
	transport := &http.Transport{MaxIdleConnsPerHost: 64, WriteBufferSize: 256 << 10, ReadBufferSize: 64 << 10}
	return &handWritten{lists: calls(size), body: body, kind: kind, url: url, at: at, client: &http.Client{Transport: transport}}
}

func (h *handWritten) send(ctx context.Context) (int64, error) {
	return together(h.at, func(i int) (stored int64, err error) {
		var body, answer []byte
		signer := v4.NewSigner()
		for n := i; ctx.Err() == nil; n++ {
			list := h.lists[n%len(h.lists)]
			from := n / len(h.lists) % (len(list) / 500) * 500
			body = h.body(body[:0], list[from:from+500])
			if answer, err = h.post(signer, body, answer[:0]); err != nil {
				return stored, err
			}
			stored += 500 - int64(bytes.Count(answer, []byte("ErrorCode")))
		}
		return stored, nil
	})
}

func (h *handWritten) post(signer *v4.Signer, body, answer []byte) ([]byte, error) {
	request, err := http.NewRequest(http.MethodPost, h.url, bytes.NewReader(body))
	if err != nil {
		return answer, err
	}
	request.Header.Set("Content-Type", h.kind)
	request.Header.Set("X-Amz-Target", "Kinesis_20131202.PutRecords")
	sum := sha256.Sum256(body)
	credentials := aws.Credentials{AccessKeyID: "bench", SecretAccessKey: "bench"}
	if err := signer.SignHTTP(context.Background(), credentials, request, hex.EncodeToString(sum[:]), "kinesis", "us-east-1", time.Now()); err != nil {
		return answer, err
	}
	response, err := h.client.Do(request)
	if err != nil {
		return answer, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return answer, fmt.Errorf("status %d", response.StatusCode)
	}
	buffer := bytes.NewBuffer(answer)
	_, err = io.Copy(buffer, response.Body)
	return buffer.Bytes(), err
}

// handJSON is a body as a plain program would write it.
func handJSON(dst []byte, records []recordbatch.Record) []byte {
	dst = append(dst, `{"StreamName":"`+streamName+`","Records":[`...)
	for i := range records {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = base64.StdEncoding.AppendEncode(append(dst, `{"Data":"`...), records[i].Data)
		dst = append(dst, `","PartitionKey":"`...)
		dst = append(dst, records[i].Key...)
		dst = append(dst, `"}`...)
	}
	return append(dst, "]}"...)
}

// handCBOR is the same in CBOR.
func handCBOR(dst []byte, records []recordbatch.Record) []byte {
	const array, text, data, object = 4 << 5, 3 << 5, 2 << 5, 5 << 5
	name := func(name string) { dst = append(cborHead(dst, text, len(name)), name...) }
	dst = cborHead(dst, object, 2)
	name("StreamName")
	name(streamName)
	name("Records")
	dst = cborHead(dst, array, len(records))
	for i := range records {
		dst = cborHead(dst, object, 2)
		name("Data")
		dst = append(cborHead(dst, data, len(records[i].Data)), records[i].Data...)
		name("PartitionKey")
		name(records[i].Key)
	}
	return dst
}

func cborHead(dst []byte, major byte, n int) []byte {
	switch {
	case n < 24:
		return append(dst, major|byte(n))
	case n < 1<<8:
		return append(dst, major|24, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(dst, major|25), uint16(n))
	}
	return binary.BigEndian.AppendUint32(append(dst, major|26), uint32(n))
}
