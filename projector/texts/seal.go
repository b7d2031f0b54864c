package texts

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"

	"github.com/ctxledger/ctxledger/schema"
)

// purpose is that of the key which is derived from the tenant's key.
const purpose = "texts in CTX_TEXTS"

// The metadata of an object.
const (
	wrappedMember = "wrapped"
	keyMember     = "key"
)

const keyBytes = 32

// errSealed means that an object cannot be decrypted.
var errSealed = errors.New("the object does not decrypt: it was changed, or its key is another one with the same id")

// seal encrypts a text for a name. wrapped is the random key, encrypted under the tenant's key.
func seal(key schema.Key, name Name, text string) (sealed []byte, wrapped string, err error) {
	own := make([]byte, keyBytes)
	rand.Read(own)
	if sealed, err = encrypt(own, name, []byte(text)); err != nil {
		return nil, "", err
	}
	under, err := encrypt(key.Derive(purpose), name, own)
	return sealed, base64.StdEncoding.EncodeToString(under), err
}

// open decrypts what [seal] made.
func open(key schema.Key, name Name, sealed []byte, wrapped string) (string, error) {
	under, err := base64.StdEncoding.DecodeString(wrapped)
	if err != nil {
		return "", errSealed
	}
	own, err := decrypt(key.Derive(purpose), name, under)
	if err != nil {
		return "", err
	}
	text, err := decrypt(own, name, sealed)
	return string(text), err
}

// encrypt returns a random nonce and the encrypted bytes.
func encrypt(key []byte, name Name, plain []byte) ([]byte, error) {
	aead, err := aeadOf(key)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, aead.NonceSize(), aead.NonceSize()+len(plain)+aead.Overhead())
	rand.Read(nonce)
	return aead.Seal(nonce, nonce, plain, []byte(name.String())), nil
}

func decrypt(key []byte, name Name, sealed []byte) ([]byte, error) {
	aead, err := aeadOf(key)
	if err != nil || len(sealed) < aead.NonceSize() {
		return nil, errSealed
	}
	nonce, rest := sealed[:aead.NonceSize()], sealed[aead.NonceSize():]
	plain, err := aead.Open(nil, nonce, rest, []byte(name.String()))
	if err != nil {
		return nil, errSealed
	}
	return plain, nil
}

func aeadOf(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}
