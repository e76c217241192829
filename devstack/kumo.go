package main

import (
	"context"
	"fmt"
	"os/signal"
	"strings"
	"syscall"

	"github.com/sivchari/kumo"
)

type kumoCommand struct{}

func (kumoCommand) Run() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	server := kumo.NewServer()
	defer server.Close()
	fmt.Println("listening", strings.TrimPrefix(server.URL, "http://"))
	<-ctx.Done()
	return nil
}
