package soak

import (
	"context"
	"strconv"
	"strings"

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

// items reads those that something was promised of.
func (w *world) items(ctx context.Context, promises []Promise) (finals []Final, err error) {
	for _, p := range promises {
		if !strings.HasPrefix(p.ID, "item/") {
			continue
		}
		f := Final{ID: p.ID}
		err := again(ctx, p.ID, func(ctx context.Context) (err error) {
			f.Figures, err = w.item(ctx, p.ID)
			return err
		})
		if err != nil {
			return nil, err
		}
		finals = append(finals, f)
	}
	return finals, nil
}
