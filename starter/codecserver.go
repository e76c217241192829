package main

import (
	"errors"
	"net"
	"net/http"
	"time"

	"go.temporal.io/sdk/converter"

	"sluice/internal/connect"
	"sluice/internal/secret"
	"sluice/starter/internal/codecguard"
)

// codecServerCmd decodes payloads for the Web UI and the temporal command, so
// that people who may read them can.
type codecServerCmd struct {
	Address string   `help:"Address to serve on." default:"127.0.0.1:8234"`
	Hosts   []string `help:"Names (host or host:port) by which it may be asked, beside its own address: those of a proxy in front of it." placeholder:"HOST"`
	Origins []string `help:"Origins of the Web UI that may ask; by default that of --ui-address."`
	Token   string   `help:"Bearer token that whoever asks has to send; required where the address is not this machine's own." env:"SLUICE_CODEC_TOKEN" placeholder:"TOKEN"`
}

func (s codecServerCmd) Run(a *app) error {
	if a.cli.EncryptionKey == "" {
		return usage("codec-server needs SLUICE_ENCRYPTION_KEY")
	}
	connect.ConcealKeys(a.cli.EncryptionKey)
	secret.Add(s.Token)
	codec, err := connect.Encryption(a.cli.EncryptionKey)
	if err != nil {
		return usage("SLUICE_ENCRYPTION_KEY: %v", err)
	}
	if len(s.Origins) == 0 {
		s.Origins = []string{a.cli.UIAddress}
	}
	listener, err := net.Listen("tcp", s.Address) //nolint:noctx // done at once
	if err != nil {
		return usage("--address: %v", err)
	}
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		return usage("--address: %s is no TCP address", s.Address)
	}
	if s.Token == "" && !address.IP.IsLoopback() {
		_ = listener.Close()
		return usage("--address: %s can be reached from elsewhere: set SLUICE_CODEC_TOKEN, or serve on 127.0.0.1", s.Address)
	}
	server := &http.Server{
		Handler:           codecguard.Guard{Address: address, Hosts: s.Hosts, Origins: s.Origins, Token: s.Token}.Handler(converter.NewPayloadCodecHTTPHandler(codec)),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute,
	}
	go func() {
		<-a.ctx.Done()
		_ = server.Close() // the program ends; there is nobody to tell
	}()
	a.note("codec server on http://%s", address)
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
