package sluice_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"sluice"
)

// A program of one's own calls DynamoDB within the budgets that the workers share, and puts
// records to Kinesis, without any workflow.
func Example_inProcess() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	config, err := sluice.LoadConfig()
	if err != nil {
		log.Fatal(err)
	}
	clients, err := sluice.Connect(ctx, config, sluice.Hooks{})
	if err != nil {
		log.Fatal(err)
	}
	defer clients.Temporal.Close()

	db := sluice.OpenDynamoDB(config, clients, sluice.Hooks{})
	defer db.Close()
	item := map[string]any{"TableName": "orders", "Item": map[string]any{"id": map[string]string{"S": "1"}}}
	if _, err := db.Call(ctx, "PutItem", item, 0); err != nil {
		log.Fatal(err)
	}

	producer := sluice.OpenKinesis(config, clients, sluice.Hooks{})
	records := []sluice.KinesisRecord{{Data: []byte("hello"), PartitionKey: "1"}}
	put, err := producer.Put(ctx, "events", records, sluice.ProducerOptions{Ordered: true})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(put.StoredRecordCount, "stored,", put.FailedRecordCount, "failed")
}
