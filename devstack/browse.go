package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"sluice/devstack/browser"
)

// browseCommand opens pages, one after the other.
type browseCommand struct{}

// Run reads pages (browser.Page) as JSON from standard input and writes what is seen
// of each (browser.Seen) as a line of JSON, until there are no more.
func (browseCommand) Run() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	path, err := browser.Find()
	if err != nil {
		return err
	}
	b, err := browser.Start(ctx, path)
	if err != nil {
		return err
	}
	defer b.Close()
	out := json.NewEncoder(os.Stdout)
	for pages := json.NewDecoder(os.Stdin); pages.More(); {
		var page browser.Page
		if err := pages.Decode(&page); err != nil {
			return fmt.Errorf("page: %w", err)
		}
		if err := out.Encode(b.Look(page)); err != nil {
			return err
		}
	}
	return nil
}
