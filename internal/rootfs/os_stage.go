package rootfs

import (
	"errors"
	"io/fs"
	"os"
)

// stageOpen bounds how many new files are open, and flushed, at one time. A change has
// two files, sixteen changes at a time have 33 with their index; an adoption of a large
// room has as many as the room.
const stageOpen = 64

func (d *disk) Stage(files []NewFile, log string, tail []byte, dirs ...string) (logged bool, err error) {
	var open []flushing
	made := 0
	flushed := false // from the last flush on, nothing is taken back
	defer func() {
		for _, s := range open {
			s.file.Close()
		}
		for _, f := range files[:made] {
			if err != nil && !flushed {
				_ = d.Remove(f.Name)
			}
		}
	}()
	for _, f := range files {
		if len(open) == stageOpen { // too many to be open at once: these come first
			if err := errors.Join(d.flush(open)...); err != nil {
				return false, err
			}
			open = closeAll(open)
		}
		file, err := d.begin(f)
		if err != nil {
			return false, err
		}
		made++
		if len(f.Data) == 0 {
			file.Close() // its name is all there is to it, and that is its directory's
			continue
		}
		open = append(open, flushing{"sync", f.Name, file, false})
	}
	if len(tail) == 0 {
		flushed = true
		return false, unsynced(errors.Join(append(d.flush(open), d.Sync(dirs...))...))
	}
	logFile, size, err := d.begun(log, tail)
	if err != nil {
		return false, err
	}
	defer logFile.Close()
	ofDirs, closeDirs, err := d.openToSync(dirs)
	defer closeDirs()
	if err != nil {
		return false, takeBack(logFile, size, log, err)
	}
	flushed = true
	all := append([]flushing{{"append", log, logFile, false}}, open...)
	writeOut(all)
	errs := d.flush(append(all, ofDirs...))
	if errs[0] != nil {
		_ = logFile.Truncate(size) // as after an append
	}
	return errs[0] == nil, unsynced(errors.Join(errs...))
}

// begin creates a file and writes to it, and leaves it open.
func (d *disk) begin(f NewFile) (*os.File, error) {
	h, base, err := d.parent("create", f.Name)
	if err != nil {
		return nil, err
	}
	defer h.close()
	file, err := h.root.OpenFile(base, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fault("create", f.Name, err)
	}
	if _, err := file.Write(f.Data); err != nil {
		file.Close()
		_ = h.root.Remove(base)
		return nil, fault("create", f.Name, err)
	}
	return file, nil
}

// begun opens a log, appends to it and leaves it open. size is what it was before.
func (d *disk) begun(log string, tail []byte) (f *os.File, size int64, err error) {
	h, base, err := d.parent("append", log)
	if err != nil {
		return nil, 0, err
	}
	defer h.close()
	var fi fs.FileInfo
	if f, fi, err = d.plain(h, base, os.O_WRONLY|os.O_APPEND); err != nil {
		return nil, 0, fault("append", log, err)
	}
	if _, err := f.Write(tail); err != nil {
		defer f.Close()
		return nil, 0, takeBack(f, fi.Size(), log, err)
	}
	return f, fi.Size(), nil
}

// closeAll closes what was flushed; an error of closing says nothing after that.
func closeAll(open []flushing) []flushing {
	for _, s := range open {
		s.file.Close()
	}
	return open[:0]
}
