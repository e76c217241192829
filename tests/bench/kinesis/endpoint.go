package main

import (
	"context"
	"crypto/md5"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// An endpoint is the stream's side of the benchmark, in a process of its own so
// that its work is not counted as the client's. It takes every record and
// answers as the service does; with a limit its shards take 1,000 records and
// 1 MiB a second, with a second's burst.
type endpoint struct {
	shards  int
	latency time.Duration
	limited bool

	mu      sync.Mutex
	buckets []shardBucket

	requests, records, refused, bytes atomic.Int64
}

type shardBucket struct {
	records, bytes float64
	last           time.Time
}

const (
	shardRecords = 1000
	shardBytes   = 1 << 20
)

// serveEndpoint runs an endpoint until its standard input ends; it writes its
// address first.
func serveEndpoint(args []string) error {
	shards, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	latency, err := time.ParseDuration(args[1])
	if err != nil {
		return err
	}
	e := &endpoint{shards: shards, latency: latency, limited: args[2] == "limited", buckets: make([]shardBucket, shards)}
	for i := range e.buckets {
		e.buckets[i] = shardBucket{shardRecords, shardBytes, time.Now()}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	return http.Serve(listener, e)
}

// startEndpoint runs an endpoint in a process of its own.
func startEndpoint(ctx context.Context, shards int, latency time.Duration, limited bool) (url string, stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	return startEndpointAt(ctx, self, shards, latency, limited)
}

func startEndpointAt(ctx context.Context, self string, shards int, latency time.Duration, limited bool) (url string, stop func(), err error) {
	mode := "open"
	if limited {
		mode = "limited"
	}
	command := exec.CommandContext(ctx, self, "endpoint", strconv.Itoa(shards), latency.String(), mode)
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := command.Start(); err != nil {
		return "", nil, err
	}
	var address string
	if _, err := fmt.Fscanln(out, &address); err != nil {
		return "", nil, err
	}
	return "http://" + address, func() { _ = in.Close(); _ = command.Wait() }, nil
}

// figures are what the endpoint has taken.
type figures struct{ Requests, Records, Refused, Bytes int64 }

func figuresOf(url string) (f figures, err error) {
	response, err := http.Get(url)
	if err != nil {
		return f, err
	}
	defer func() { _ = response.Body.Close() }()
	return f, json.NewDecoder(response.Body).Decode(&f)
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	switch target := r.Header.Get("X-Amz-Target"); {
	case strings.HasSuffix(target, ".PutRecords"):
		kind := r.Header.Get("Content-Type")
		w.Header().Set("Content-Type", kind)
		answer := e.put(body, protocols[kind])
		if e.latency > 0 {
			time.Sleep(e.latency)
		}
		_, _ = w.Write(answer)
	case strings.HasSuffix(target, ".ListShards"):
		_, _ = w.Write(e.list())
	default:
		_ = json.NewEncoder(w).Encode(figures{e.requests.Load(), e.records.Load(), e.refused.Load(), e.bytes.Load()})
	}
}

// list divides the ring evenly. The number of shards is a power of two.
func (e *endpoint) list() []byte {
	type object = map[string]any
	width := new(big.Int).Div(new(big.Int).Lsh(big.NewInt(1), 128), big.NewInt(int64(e.shards)))
	var shards []object
	for i := range e.shards {
		from := new(big.Int).Mul(width, big.NewInt(int64(i)))
		to := new(big.Int).Sub(new(big.Int).Add(from, width), big.NewInt(1))
		shards = append(shards, object{"ShardId": shardName(i),
			"HashKeyRange":        object{"StartingHashKey": from.String(), "EndingHashKey": to.String()},
			"SequenceNumberRange": object{"StartingSequenceNumber": "1"}})
	}
	answer, _ := json.Marshal(object{"Shards": shards}) // a map of strings has a JSON form
	return answer
}

func shardName(i int) string { return fmt.Sprintf("shardId-%012d", i) }

// put takes the records of a body without decoding it: what it counts are the
// lengths of data and keys.
func (e *endpoint) put(body []byte, w protocol) []byte {
	answer := append(make([]byte, 0, 64<<10), w.begin...)
	records, failed := 0, 0
	for {
		size, key, rest, ok := w.next(body)
		if !ok {
			break
		}
		body = rest
		if records > 0 {
			answer = append(answer, w.between...)
		}
		records++
		shard := e.shardOf(key)
		if e.limited && !e.take(shard, size) {
			failed++
			answer = append(answer, w.refused...)
			continue
		}
		e.bytes.Add(int64(size))
		answer = append(append(answer, w.stored[0]...), shardNames()[shard]...)
		answer = append(answer, w.stored[1]...)
	}
	answer = w.end(answer, failed)
	e.requests.Add(1)
	e.records.Add(int64(records - failed))
	e.refused.Add(int64(failed))
	return answer
}

// shardNames are the names of as many shards as there may be.
var shardNames = sync.OnceValue(func() []string {
	names := make([]string, manyShards)
	for i := range names {
		names[i] = shardName(i)
	}
	return names
})

func (e *endpoint) shardOf(key []byte) int {
	sum := md5.Sum(key)
	return int(binary.BigEndian.Uint32(sum[:4]) / uint32(1<<32/uint64(e.shards)))
}

func (e *endpoint) take(shard, size int) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	b, now := &e.buckets[shard], time.Now()
	dt := now.Sub(b.last).Seconds()
	b.last = now
	b.records = min(shardRecords, b.records+dt*shardRecords)
	b.bytes = min(shardBytes, b.bytes+dt*shardBytes)
	if b.records < 1 || b.bytes < float64(size) {
		return false
	}
	b.records--
	b.bytes -= float64(size)
	return true
}
