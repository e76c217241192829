package sluice

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path"

	"sluice/activities/dynamodb"
	"sluice/internal/connect"
	"sluice/workflows/throughput"
)

// newDynamoDB builds the DynamoDB activities, and gives their shares of capacity
// back when all activities have ended.
func (s *Worker) newDynamoDB(c Config, made *Clients, hooks Hooks) *dynamodb.Activities {
	config := dynamoDBConfig(c, made, hooks)
	config.Marks = made.Temporal
	db := dynamodb.New(config)
	s.after = append(s.after, func(context.Context) { db.Close() })
	return db
}

// dynamoDBConfig is that of calls within the fleet's budgets.
func dynamoDBConfig(c Config, made *Clients, hooks Hooks) dynamodb.Config {
	return dynamodb.Config{
		Client:    DynamoDB(made.AWS),
		Place:     path.Join(c.Throughput.Scope, made.AWS.Region),
		Worker:    workerName(),
		TaskQueue: c.TaskQueue,
		Steady:    c.Throughput.Lease,
		Owner:     throughput.Owners{Client: made.Temporal, TaskQueue: c.Throughput.Owners()},
		Logger:    connect.TemporalLogger(hooks.logger()),
		Metrics:   hooks.metrics(),

		MaxPayload: maxAnswer(c),
	}
}

// maxAnswer is the bytes that an answer may have: what a payload holds (0), or,
// where payloads travel by reference, the most that DynamoDB itself answers, 16 MB
// of a batch.
func maxAnswer(c Config) int {
	if c.PayloadBucket == "" {
		return 0
	}
	return 16 * mebibyte
}

// workerName tells this process from all others of the fleet: two on one host may
// have the same process number in their containers.
func workerName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s-%d-%s", host, os.Getpid(), rand.Text()[:6])
}
