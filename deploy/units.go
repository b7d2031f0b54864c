package deploy

import "path"

// Units returns the units of systemd: one for each program of a production node, and one for all of
// them on one machine. They hold no secret.
func Units() []File {
	var files []File
	for _, name := range []string{"ctxledger-project.service", "ctxledger-serve.service", "ctxledger-up.service"} {
		text, err := folders.ReadFile(path.Join("systemd", name))
		if err != nil {
			panic(err) // the files are embedded
		}
		files = append(files, File{path.Join("systemd", name), string(text)})
	}
	return files
}

// WriteUnits writes the units into dir and returns their paths, relative to dir.
func WriteUnits(dir string) (written []string, err error) {
	for _, f := range Units() {
		if err := writeFile(dir, f, 0o755, 0o644); err != nil {
			return written, err
		}
		written = append(written, f.Path)
	}
	return written, nil
}
