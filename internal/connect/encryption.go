package connect

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

const (
	encodingEncrypted = "binary/encrypted"
	keySize           = 32 // AES-256
)

// encryption is a payload codec: AES-256-GCM over the whole payload, metadata
// included, with a random nonce in front.
type encryption struct{ aead cipher.AEAD }

// Encryption makes the codec for a key of 32 bytes in base64.
func Encryption(key string) (converter.PayloadCodec, error) {
	raw, err := base64.StdEncoding.DecodeString(key)
	if err != nil || len(raw) != keySize {
		return nil, errors.New("encryption key: 32 bytes in base64 are needed; make one with `openssl rand -base64 32`")
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return nil, fmt.Errorf("encryption key: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("encryption key: %w", err)
	}
	return encryption{aead}, nil
}

// Encode encrypts payloads.
func (e encryption) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	encoded := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		plain, err := proto.Marshal(p)
		if err != nil {
			return nil, fmt.Errorf("encrypt payload: %w", err)
		}
		nonce := make([]byte, e.aead.NonceSize(), e.aead.NonceSize()+len(plain)+e.aead.Overhead())
		if _, err := rand.Read(nonce); err != nil {
			return nil, fmt.Errorf("encrypt payload: %w", err)
		}
		encoded[i] = &commonpb.Payload{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encodingEncrypted)},
			Data:     e.aead.Seal(nonce, nonce, plain, nil),
		}
	}
	return encoded, nil
}

// Decode decrypts what Encode made and passes by what was never encrypted, so
// that encryption can be switched on while workflows run.
func (e encryption) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	decoded := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		if string(p.GetMetadata()[converter.MetadataEncoding]) != encodingEncrypted {
			decoded[i] = p
			continue
		}
		size := e.aead.NonceSize()
		if len(p.Data) < size {
			return nil, errors.New("decrypt payload: shorter than its nonce")
		}
		plain, err := e.aead.Open(nil, p.Data[:size], p.Data[size:], nil)
		if err != nil {
			return nil, errors.New("decrypt payload: made with another SLUICE_ENCRYPTION_KEY, or damaged")
		}
		decoded[i] = &commonpb.Payload{}
		if err := proto.Unmarshal(plain, decoded[i]); err != nil {
			return nil, fmt.Errorf("decrypt payload: %w", err)
		}
	}
	return decoded, nil
}
