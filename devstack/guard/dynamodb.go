package guard

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	dynamoTarget    = "DynamoDB_20120810."
	dynamoContent   = "application/x-amz-json-1.0"
	dynamoNamespace = "com.amazonaws.dynamodb.v20120810#"
)

// dynamoDB adds provisioned throughput, transactions, index consumption and the
// old item of a failed condition to dynalite.
type dynamoDB struct {
	to       *upstream
	limits   *limits
	counters *counters
	tables   *tables
	meters   *meters
	ranges   *keyRanges
	tokens   *tokens
	// A transaction holds it alone, so that no other write through the guard
	// comes between its checks and its writes.
	writes sync.RWMutex
}

func newDynamoDB(to *upstream, limits *limits, counters *counters) *dynamoDB {
	return &dynamoDB{to: to, limits: limits, counters: counters, tables: newTables(to), meters: newMeters(), ranges: newKeyRanges(), tokens: newTokens()}
}

func (d *dynamoDB) identify(c *call) (err error) {
	if err := identifyJSON(c); err != nil {
		return err
	}
	if c.doc, err = parse(c.body); err != nil {
		return err
	}
	switch c.operation {
	case "BatchGetItem", "BatchWriteItem":
		items, err := parse(c.doc["RequestItems"])
		c.target = strings.Join(slices.Sorted(maps.Keys(items)), ",")
		return err
	case "TransactGetItems", "TransactWriteItems":
		c.target = strings.Join(transactTables(c.doc), ",")
	default:
		given := c.doc.text("TableName")
		if c.target = nameOf(given, "table"); c.target != given {
			c.doc.set("TableName", c.target) // dynalite knows no ARNs
			c.body = encode(c.doc)
		}
	}
	return nil
}

func (d *dynamoDB) work(ctx context.Context, c *call) (*answer, error) {
	// What was begun is finished, whether or not the client still waits.
	ctx = context.WithoutCancel(ctx)
	switch c.operation {
	case "GetItem", "Query", "Scan":
		return d.read(ctx, c)
	case "PutItem", "UpdateItem", "DeleteItem":
		return d.write(ctx, c)
	case "BatchGetItem":
		return d.batchGet(ctx, c)
	case "BatchWriteItem":
		return d.batchWrite(ctx, c)
	case "TransactGetItems":
		return d.transactGet(ctx, c)
	case "TransactWriteItems":
		return d.transactWrite(ctx, c)
	case "CreateTable", "UpdateTable", "DeleteTable":
		defer d.tables.forget(c.target)
		if c.operation != "UpdateTable" {
			d.dropShadow(ctx, c.target)
		}
	case "ListTables":
		return d.listTables(ctx, c)
	}
	return d.to.send(ctx, c, c.body)
}

func (d *dynamoDB) refuse(c *call, status int, code, message string) *answer {
	return refuseJSON(c, dynamoContent, dynamoNamespace, status, code, message)
}

func (d *dynamoDB) throttle(c *call) *answer {
	c.count(Count{Throttled: 1})
	return d.refuse(c, http.StatusBadRequest, "ProvisionedThroughputExceededException", throttleMessage)
}

const throttleMessage = "The level of configured provisioned throughput for the table was exceeded. " +
	"Consider increasing your provisioning level with the UpdateTable API."

// ask calls dynalite; the error says what it answered if that was one.
func (d *dynamoDB) ask(ctx context.Context, operation string, in any) (doc, error) {
	status, body, err := d.to.ask(ctx, dynamoTarget+operation, dynamoContent, encode(in))
	if err != nil {
		return nil, err
	}
	if status != http.StatusOK {
		return nil, &upstreamError{operation, status, errorCode(body), errorMessage(body)}
	}
	return parse(body)
}

// upstreamError is an error answer to a call of the guard's own.
type upstreamError struct {
	operation string
	status    int
	code      string
	message   string
}

func (e *upstreamError) Error() string {
	return fmt.Sprintf("%s: %d %s: %s", e.operation, e.status, e.code, e.message)
}

// answerJSON is an answer of ours with its checksum.
func (d *dynamoDB) answerJSON(c *call, out doc) *answer {
	body := encode(out)
	a := jsonAnswer(dynamoContent, http.StatusOK, body)
	sumUp(c, a, body)
	return a
}

// listTables hides the tables that transactions are tried out on.
func (d *dynamoDB) listTables(ctx context.Context, c *call) (*answer, error) {
	a, err := d.to.send(ctx, c, c.body)
	if err != nil || a.status != http.StatusOK {
		return a, err
	}
	body, err := a.whole()
	if err != nil {
		return nil, err
	}
	out, err := parse(body)
	if err != nil {
		return a, nil //nolint:nilerr // what is no document goes on as it is
	}
	names := []string{}
	_ = json.Unmarshal(out["TableNames"], &names)
	out.set("TableNames", slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, shadowPrefix) }))
	return d.answerJSON(c, out), nil
}

// tokenAge is how long the service remembers a ClientRequestToken.
const tokenAge = 10 * time.Minute

// tokens make TransactWriteItems idempotent.
type tokens struct {
	mu    sync.Mutex
	known map[string]*tokenUse
}

type tokenUse struct {
	request [sha256.Size]byte
	done    bool
	used    []consumed // what repeating it is told to have consumed
	at      time.Time
}

func newTokens() *tokens { return &tokens{known: map[string]*tokenUse{}} }

// begin answers how a token was used before, nil if this is its first use, which
// is then in progress until end.
func (t *tokens) begin(token string, request [sha256.Size]byte, now time.Time) *tokenUse {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name, use := range t.known {
		if use.done && now.Sub(use.at) > tokenAge {
			delete(t.known, name)
		}
	}
	if use := t.known[token]; use != nil {
		before := *use
		return &before
	}
	t.known[token] = &tokenUse{request: request, at: now}
	return nil
}

// end keeps a token whose transaction was carried out and forgets another's.
func (t *tokens) end(token string, done bool, used []consumed, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !done {
		delete(t.known, token)
		return
	}
	use := t.known[token]
	use.done, use.used, use.at = true, used, now
}
