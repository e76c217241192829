package guard

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// An Action is what the permissions of a caller are asked for before a call: IAM's name
// of what it does, and the ARN of what to, with REGION and ACCOUNT in the place of these.
type Action struct {
	Action   string `json:"action"`
	Resource string `json:"resource"`
}

// actions are those that each access key has been used for.
type actions struct {
	mu   sync.Mutex
	seen map[string]map[Action]bool
}

func newActions() *actions { return &actions{seen: map[string]map[Action]bool{}} }

func (a *actions) note(c *call) {
	key := accessKey(c.r)
	if key == "" {
		return // not AWS
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.seen[key] == nil {
		a.seen[key] = map[Action]bool{}
	}
	for _, one := range askedFor(c) {
		a.seen[key][one] = true
	}
}

// of lists what a key has been used for, in order.
func (a *actions) of(key string) []Action {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := make([]Action, 0, len(a.seen[key]))
	for one := range a.seen[key] {
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b Action) int {
		return cmp.Or(strings.Compare(a.Resource, b.Resource), strings.Compare(a.Action, b.Action))
	})
	return list
}

func (a *actions) serve(w http.ResponseWriter, r *http.Request) {
	reply(w, a.of(r.URL.Query().Get("accessKey")))
}

// askedFor are a call's actions, one for each of its resources.
func askedFor(c *call) []Action {
	switch c.service {
	case DynamoDB:
		return askedOfTables(c)
	case Kinesis:
		return []Action{{"kinesis:" + c.operation, arn("kinesis", "stream/", c.target)}}
	case SQS:
		return []Action{{"sqs:" + strings.TrimSuffix(c.operation, "Batch"), arn("sqs", "", c.target)}}
	case S3:
		return []Action{askedOfS3(c)}
	case AzQueue:
	}
	return nil
}

func arn(service, kind, name string) string {
	if name == "" {
		return "*"
	}
	return "arn:aws:" + service + ":REGION:ACCOUNT:" + kind + name
}

// transactionActions are asked for by element: IAM knows no action for a transaction.
func transactionActions() map[string]string {
	return map[string]string{"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheckItem", "Get": "GetItem"}
}

func askedOfTables(c *call) (list []Action) {
	if strings.HasPrefix(c.operation, "Transact") {
		var items []map[string]doc
		_ = json.Unmarshal(c.doc["TransactItems"], &items)
		names := transactionActions()
		for _, item := range items {
			for kind, in := range item {
				list = append(list, Action{"dynamodb:" + names[kind], arn("dynamodb", "table/", nameOf(in.text("TableName"), "table"))})
			}
		}
		return list
	}
	for table := range strings.SplitSeq(c.target, ",") {
		if index := c.doc.text("IndexName"); index != "" {
			table += "/index/" + index
		}
		list = append(list, Action{"dynamodb:" + c.operation, arn("dynamodb", "table/", table)})
	}
	return list
}

func askedOfS3(c *call) Action {
	name := c.operation
	switch name {
	case "HeadObject":
		name = "GetObject"
	case "HeadBucket", "ListObjects", "ListObjectsV2":
		name = "ListBucket"
	case "CreateMultipartUpload", "UploadPart", "CompleteMultipartUpload", "CopyObject":
		name = "PutObject"
	case "DeleteObjects":
		name = "DeleteObject"
	case "ListBuckets":
		return Action{"s3:ListAllMyBuckets", "*"}
	}
	return Action{"s3:" + name, "arn:aws:s3:::" + strings.TrimSuffix(c.object, "/")}
}
