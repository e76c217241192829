package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"

	"sluice/tests/harness"
)

// warmUp is not measured: shares settle, and the guard's first second is spent.
const warmUp = 12 * time.Second

// orders tell one worker process what to do.
type orders struct {
	Way       string
	Table     string
	Rate      float64 // calls a second
	Share     float64 // units a second, for the fixed rate
	Length    time.Duration
	TaskQueue string
	Scope     string
	Worker    string
	DynamoDB  string // endpoint
	Temporal  string // address
}

// waits is what one worker process answers: how long calls waited, in seconds, by
// priority, and how many ended without success.
type waits struct {
	ByPriority map[int][]float64
	Done       int
	Failed     int
}

type extras struct{ waitRatio, leaseEvents float64 }

// ours measures the scheduler and its leases, with a worker process for each rate.
func ours(p *harness.Program, s *harness.Stack, rates []float64, length time.Duration) (figures, extras, error) {
	table := s.NewTable(harness.Table{Read: units, Write: units})
	owner := fmt.Sprintf("throughput/dynamodb/%s/us-east-1/%s/write", s.TaskQueue, table)
	s.Starter("throughput", "set", owner, "--utilization", "1").OK(p)
	before, after := 0, 0
	all, f, err := load(p, s, "ours", table, rates, length,
		func() { before = events(s, owner) }, func() { after = events(s, owner) })
	if err != nil {
		return f, extras{}, err
	}
	return f, extras{
		waitRatio:   mean(all.ByPriority[1]) / mean(all.ByPriority[5]),
		leaseEvents: float64(after-before) / float64(len(rates)) / (length.Seconds() / 5),
	}, nil
}

// theirs measures a baseline on the same work.
func theirs(p *harness.Program, s *harness.Stack, way string, rates []float64, length time.Duration) (figures, error) {
	table := s.NewTable(harness.Table{Read: units, Write: units})
	_, f, err := load(p, s, way, table, rates, length, func() {}, func() {})
	return f, err
}

// load runs a worker process for each rate, and reads at the guard what became of
// it between the warm-up and the end.
func load(p *harness.Program, s *harness.Stack, way, table string, rates []float64, length time.Duration, begin, end func()) (waits, figures, error) {
	ctx, cancel := context.WithTimeout(context.Background(), length+warmUp+time.Minute)
	defer cancel()
	var processes []*exec.Cmd
	outputs := make([]bytes.Buffer, len(rates))
	for i, rate := range rates {
		order, err := json.Marshal(orders{
			Way: way, Table: table, Rate: rate, Share: float64(units) / float64(len(rates)), Length: length + warmUp,
			TaskQueue: s.TaskQueue, Scope: s.TaskQueue, Worker: fmt.Sprint("bench-", i),
			DynamoDB: s.Env("AWS_ENDPOINT_URL_DYNAMODB"), Temporal: s.Env("TEMPORAL_ADDRESS"),
		})
		if err != nil {
			return waits{}, figures{}, err
		}
		cmd := exec.CommandContext(ctx, os.Args[0], "worker", string(order))
		cmd.Stdout, cmd.Stderr = &outputs[i], os.Stderr
		if err := cmd.Start(); err != nil {
			return waits{}, figures{}, err
		}
		processes = append(processes, cmd)
	}
	<-time.After(warmUp)
	begin()
	before, began := s.Guard.Counters(p).Sum(harness.DynamoDB, "PutItem", table), time.Now()
	<-time.After(length - time.Second) // workers end a little earlier than we look
	after, took := s.Guard.Counters(p).Sum(harness.DynamoDB, "PutItem", table), time.Since(began)
	end()
	all := waits{ByPriority: map[int][]float64{}}
	for i, cmd := range processes {
		if err := cmd.Wait(); err != nil {
			return all, figures{}, fmt.Errorf("worker %d: %w", i, err)
		}
		var w waits
		if err := json.Unmarshal(outputs[i].Bytes(), &w); err != nil {
			return all, figures{}, errors.Join(err, errors.New(outputs[i].String()))
		}
		for priority, list := range w.ByPriority {
			all.ByPriority[priority] = append(all.ByPriority[priority], list...)
		}
		all.Done, all.Failed = all.Done+w.Done, all.Failed+w.Failed
	}
	calls := float64(after.Calls - before.Calls)
	var every []float64
	for _, list := range all.ByPriority {
		every = append(every, list...)
	}
	slices.Sort(every)
	f := figures{
		Utilization: (after.Consumed - before.Consumed) / (units * took.Seconds()),
		Throttled:   float64(after.Throttled-before.Throttled) / max(calls, 1),
		Failed:      float64(all.Failed) / float64(max(all.Done+all.Failed, 1)),
	}
	if len(every) > 0 {
		f.P99Seconds = every[len(every)*99/100]
	}
	return all, f, nil
}

func mean(list []float64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += v
	}
	return sum / float64(max(len(list), 1))
}

// events is the length of a workflow's history.
func events(s *harness.Stack, workflowID string) int {
	described, err := s.Client.DescribeWorkflow(context.Background(), workflowID, "")
	if err != nil {
		return 0
	}
	return int(described.RawResponse.GetWorkflowExecutionInfo().GetHistoryLength())
}
