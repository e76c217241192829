package main

import "context"

func objectMemory(ctx context.Context, r *report) error { return nil }
func shardLimits(ctx context.Context, r *report) error  { return nil }
func history(ctx context.Context, r *report) error      { return nil }
