package connect

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"sluice/internal/secret"
)

const (
	keySize = 32 // AES-256
	// keyIDBytes of its SHA-256 tell a key without an ID of its own from all others.
	keyIDBytes = 4
)

// keyIDs are what an ID may be: it stands in histories and errors, and before a colon.
var keyIDs = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// Keys are the encryption keys of a program: the first encrypts, all decrypt.
type Keys struct {
	first string
	byID  map[string]cipher.AEAD
}

// ParseKeys reads keys of 32 bytes in base64, with commas between them, each behind its
// ID and a colon where it has one. A key without is known by the beginning of its
// SHA-256. No error tells any part of a key.
func ParseKeys(text string) (*Keys, error) {
	keys := &Keys{byID: map[string]cipher.AEAD{}}
	for i, entry := range strings.Split(text, ",") {
		id, aead, err := parseKey(strings.TrimSpace(entry))
		if err != nil {
			return nil, fmt.Errorf("encryption key %d: %w", i+1, err)
		}
		if keys.byID[id] != nil {
			return nil, fmt.Errorf("encryption key %d: its ID %q is an earlier one's; a new key needs an ID of its own", i+1, id)
		}
		keys.byID[id] = aead
		if keys.first == "" {
			keys.first = id
		}
	}
	return keys, nil
}

func parseKey(entry string) (id string, _ cipher.AEAD, err error) {
	id, key, named := strings.Cut(entry, ":")
	if !named {
		id, key = "", entry
	}
	raw, err := base64.StdEncoding.DecodeString(key)
	if err != nil || len(raw) != keySize {
		return "", nil, errors.New("32 bytes in base64 are needed; make one with `openssl rand -base64 32`")
	}
	if !named {
		sum := sha256.Sum256(raw)
		id = hex.EncodeToString(sum[:keyIDBytes])
	}
	if !keyIDs.MatchString(id) {
		return "", nil, fmt.Errorf("its ID does not match %s", keyIDs)
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return "", nil, err
	}
	aead, err := cipher.NewGCM(block)
	return id, aead, err
}

// First is the ID of the key that encrypts.
func (k *Keys) First() string { return k.first }

func (k *Keys) list() string {
	if len(k.byID) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(k.byID)), ", ")
}

// ConcealKeys makes known what of the text of keys no line may tell. IDs may be told.
func ConcealKeys(text string) {
	for _, entry := range strings.Split(text, ",") {
		_, key, named := strings.Cut(strings.TrimSpace(entry), ":")
		if !named {
			key = strings.TrimSpace(entry)
		}
		secret.Add(key)
	}
}
