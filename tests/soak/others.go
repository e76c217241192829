package soak

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// itemFinal is what the final state of an item is called.
func itemFinal(table, id string) string { return "item/" + table + "/" + id }

// item reads the numbers of an item by that name.
func (w *world) item(ctx context.Context, name string) (map[string]int64, error) {
	table, id, _ := strings.Cut(strings.TrimPrefix(name, "item/"), "/")
	got, err := w.s.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{TableName: &table, ConsistentRead: aws.Bool(true),
		Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: id}}})
	if err != nil {
		return nil, err
	}
	figures := map[string]int64{}
	for attribute, value := range got.Item {
		if n, ok := value.(*types.AttributeValueMemberN); ok {
			if figures[attribute], err = strconv.ParseInt(n.Value, 10, 64); err != nil {
				return nil, err
			}
		}
	}
	return figures, nil
}

// queueFinal is what the final state of an Azure queue is called.
func queueFinal(queue string) string { return "queue/" + queue }

// messages counts the different bodies on an Azure queue, of what is put aside those of
// the messages that it was.
func (w *world) messages(ctx context.Context, queue string) (int64, error) {
	most := int32(32)
	got, err := w.s.Queues.NewQueueClient(queue).PeekMessages(ctx, &azqueue.PeekMessagesOptions{NumberOfMessages: &most})
	if err != nil {
		return 0, err
	}
	bodies := map[string]bool{}
	for _, m := range got.Messages {
		record := struct{ Body string }{*m.MessageText}
		_ = json.Unmarshal([]byte(*m.MessageText), &record) // what is no record stands for itself
		bodies[record.Body] = true
	}
	return int64(len(bodies)), nil
}

// others reads the items and queues that something was promised of.
func (w *world) others(ctx context.Context, promises []Promise) (finals []Final, err error) {
	for _, p := range promises {
		queue, isQueue := strings.CutPrefix(p.ID, "queue/")
		if !isQueue && !strings.HasPrefix(p.ID, "item/") {
			continue
		}
		f := Final{ID: p.ID}
		err := again(ctx, p.ID, func(ctx context.Context) (err error) {
			if !isQueue {
				f.Figures, err = w.item(ctx, p.ID)
				return err
			}
			n, err := w.messages(ctx, queue)
			f.Figures = map[string]int64{"distinct": n}
			return err
		})
		if err != nil {
			return nil, err
		}
		finals = append(finals, f)
	}
	return finals, nil
}
