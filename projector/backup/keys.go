package backup

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"
)

// KeysFile is a tar of the folder of keys, encrypted by age to the recipients.
const KeysFile = "keys.age"

var (
	// ErrNoKeys means that a backup has no keys.
	ErrNoKeys = errors.New("the backup has no keys: put the folder keys/ of the backed-up installation into the data folder")
	// ErrIdentity means that no identity fits a recipient of the keys.
	ErrIdentity = errors.New("the keys of the backup are encrypted to other recipients: name the identity of one of them")
	// ErrOtherKeys means that the folder of keys has another file under a name of the backup.
	ErrOtherKeys = errors.New("the data folder has another key file of this name, which is not overwritten: move it away if it is of an empty installation")
)

// A Seal encrypts the key files of an installation to recipients.
type Seal struct {
	Recipients []age.Recipient
	Folder     string
}

// write encrypts the files of the folder of keys. The text of a file leaves this function only
// encrypted.
func (s Seal) write(path string) (err error) {
	out, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Sync(), out.Close()) }()
	sealed, err := age.Encrypt(out, s.Recipients...)
	if err != nil {
		return err
	}
	files := tar.NewWriter(sealed)
	names, err := keyFiles(s.Folder)
	if err != nil {
		return err
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(s.Folder, name))
		if err == nil {
			err = files.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(text)), Typeflag: tar.TypeReg})
		}
		if err == nil {
			_, err = files.Write(text)
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(files.Close(), sealed.Close())
}

// keyFiles returns the names of the files in a folder of keys. Locks and unfinished files begin with a
// point.
func keyFiles(folder string) (names []string, err error) {
	list, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	for _, entry := range list {
		if entry.Type().IsRegular() && !strings.HasPrefix(entry.Name(), ".") {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// UnpackKeys writes the keys of a backup into the folder of keys of an installation, and returns the
// names of their files. UnpackKeys overwrites no other file, and may be repeated after every error.
// Errors, after which nothing was changed: [ErrNoKeys], [ErrIdentity], [ErrOtherKeys], [ErrChanged].
func UnpackKeys(dir string, identities []age.Identity, folder string) (names []string, err error) {
	sealed, err := os.ReadFile(filepath.Join(dir, KeysFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoKeys
	}
	if err != nil {
		return nil, fmt.Errorf("read the keys of the backup: %w", err)
	}
	files, err := openKeys(sealed, identities)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(folder, f.name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, fmt.Errorf("read the key files: %w", err)
		case !bytes.Equal(text, f.text):
			return nil, fmt.Errorf("%w (%s)", ErrOtherKeys, filepath.Join(folder, f.name))
		}
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of keys: %w", err)
	}
	for _, f := range files {
		path := filepath.Join(folder, f.name)
		if err := writeFile(path+".new", f.text); err != nil {
			return nil, fmt.Errorf("write the key files: %w", err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			return nil, fmt.Errorf("write the key files: %w", err)
		}
		names = append(names, f.name)
	}
	return names, syncPath(folder)
}

// keyFile is a decrypted file of keys.
type keyFile struct {
	name string
	text []byte
}

func openKeys(sealed []byte, identities []age.Identity) (files []keyFile, err error) {
	text, err := age.Decrypt(bytes.NewReader(sealed), identities...)
	var other *age.NoIdentityMatchError
	if errors.As(err, &other) {
		return nil, ErrIdentity
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s cannot be decrypted: %w", ErrChanged, KeysFile, err)
	}
	for in := tar.NewReader(text); ; {
		head, err := in.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %s cannot be decrypted: %w", ErrChanged, KeysFile, err)
		}
		if head.Typeflag != tar.TypeReg || head.Name != filepath.Base(head.Name) || strings.HasPrefix(head.Name, ".") {
			return nil, fmt.Errorf("%w: %s has the entry %q, which is no key file", ErrChanged, KeysFile, head.Name)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			return nil, fmt.Errorf("%w: %s cannot be decrypted: %w", ErrChanged, KeysFile, err)
		}
		files = append(files, keyFile{head.Name, text})
	}
}
