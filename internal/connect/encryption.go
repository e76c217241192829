package connect

import (
	"crypto/rand"
	"errors"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

// Metadata of an encrypted payload.
const (
	encodingEncrypted = "binary/encrypted"
	metadataKeyID     = "encryption-key-id"
)

// encryption is a payload codec: AES-256-GCM over the whole payload, metadata
// included, with a random nonce in front. Beside it stands the ID of its key, which
// it is bound to.
type encryption struct{ keys *Keys }

// Encryption makes the codec of keys as ParseKeys reads them.
func Encryption(keys string) (converter.PayloadCodec, error) {
	parsed, err := ParseKeys(keys)
	if err != nil {
		return nil, err
	}
	return encryption{parsed}, nil
}

// NoEncryption is the codec of a program without keys. It encrypts nothing, and says
// of what was encrypted which key is missing.
func NoEncryption() converter.PayloadCodec { return encryption{&Keys{}} }

// Encode encrypts payloads with the first key.
func (e encryption) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	id := e.keys.first
	if id == "" {
		return payloads, nil
	}
	aead := e.keys.byID[id]
	encoded := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		plain, err := proto.Marshal(p)
		if err != nil {
			return nil, fmt.Errorf("encrypt payload: %w", err)
		}
		nonce := make([]byte, aead.NonceSize(), aead.NonceSize()+len(plain)+aead.Overhead())
		if _, err := rand.Read(nonce); err != nil {
			return nil, fmt.Errorf("encrypt payload: %w", err)
		}
		encoded[i] = &commonpb.Payload{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encodingEncrypted), metadataKeyID: []byte(id)},
			Data:     aead.Seal(nonce, nonce, plain, []byte(id)),
		}
	}
	return encoded, nil
}

// Decode decrypts what Encode made with any of the keys and passes by what was never
// encrypted, so that encryption can be switched on while workflows run.
func (e encryption) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	decoded := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		if string(p.GetMetadata()[converter.MetadataEncoding]) != encodingEncrypted {
			decoded[i] = p
			continue
		}
		plain, err := e.open(p)
		if err != nil {
			return nil, fmt.Errorf("decrypt payload: %w", err)
		}
		decoded[i] = &commonpb.Payload{}
		if err := proto.Unmarshal(plain, decoded[i]); err != nil {
			return nil, fmt.Errorf("decrypt payload: %w", err)
		}
	}
	return decoded, nil
}

func (e encryption) open(p *commonpb.Payload) ([]byte, error) {
	id := p.GetMetadata()[metadataKeyID]
	aead := e.keys.byID[string(id)]
	if aead == nil {
		// A workflow is not to fail for what its worker lacks: another has the key, or this
		// one will.
		return nil, converter.NewWorkflowTaskFailureError(fmt.Errorf(
			"made with the key %q, which SLUICE_ENCRYPTION_KEY does not have (it has %s); add it behind the first", id, e.keys.list()))
	}
	size := aead.NonceSize()
	if len(p.Data) < size {
		return nil, errors.New("shorter than its nonce")
	}
	plain, err := aead.Open(nil, p.Data[:size], p.Data[size:], id)
	if err != nil {
		return nil, fmt.Errorf("made with another key of the ID %q, or damaged", id)
	}
	return plain, nil
}
