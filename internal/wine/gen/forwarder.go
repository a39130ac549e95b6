//go:build ignore

// Command forwarder writes a bcryptprimitives.dll for Wine before 9.0, which has none:
// go run forwarder.go FILE. Go programs ask it for ProcessPrng and nothing else; this
// one hands that on to advapi32.SystemFunction036 (RtlGenRandom), which Wine has and
// which takes the same arguments. It is a DLL without code: one section with an export
// directory of one forwarder.
package main

import (
	"bytes"
	"encoding/binary"
	"log"
	"os"
)

const (
	page, unit = 0x1000, 0x200 // alignment in memory and in the file
	section    = page          // where the section is mapped

	// Offsets in the section of what the export directory (40 bytes) points to.
	functions = 40
	names     = functions + 4
	ordinals  = names + 4
	texts     = ordinals + 4

	dll, export, target = "bcryptprimitives.dll\x00", "ProcessPrng\x00", "ADVAPI32.SystemFunction036\x00"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: go run forwarder.go FILE")
	}
	data := pad(exports())
	if err := os.WriteFile(os.Args[1], append(pad(headers(len(data))), data...), 0o644); err != nil {
		log.Fatal(err)
	}
}

func pad(b []byte) []byte { return append(b, make([]byte, (unit-len(b)%unit)%unit)...) }

func put(b *bytes.Buffer, values ...any) {
	for _, v := range values {
		if err := binary.Write(b, binary.LittleEndian, v); err != nil {
			log.Fatal(err)
		}
	}
}

func exports() []byte {
	var b bytes.Buffer
	nameAt, exportAt, targetAt := section+texts, section+texts+len(dll), section+texts+len(dll)+len(export)
	put(&b, uint32(0), uint32(0), uint32(0), uint32(nameAt), uint32(1), // flags, time, version, name, base
		uint32(1), uint32(1), uint32(section+functions), uint32(section+names), uint32(section+ordinals))
	put(&b, uint32(targetAt), uint32(exportAt), uint16(0), uint16(0))
	b.WriteString(dll + export + target)
	return b.Bytes()
}

func headers(size int) []byte {
	var b bytes.Buffer
	b.WriteString("MZ")
	b.Write(make([]byte, 58))
	put(&b, uint32(64)) // where the PE header is
	b.WriteString("PE\x00\x00")
	put(&b, uint16(0x8664), uint16(1), uint32(0), uint32(0), uint32(0), uint16(112+16*8), uint16(0x2022)) // amd64, one section, a DLL
	put(&b, uint16(0x20B), uint16(0), uint32(0), uint32(size), uint32(0), uint32(0), uint32(section),
		uint64(0x180000000), uint32(page), uint32(unit), uint16(6), uint16(0), uint16(0), uint16(0), uint16(6), uint16(0),
		uint32(0), uint32(section+page), uint32(unit), uint32(0), uint16(2), uint16(0x0100),
		uint64(1<<20), uint64(page), uint64(1<<20), uint64(page), uint32(0), uint32(16))
	put(&b, uint32(section), uint32(texts+len(dll)+len(export)+len(target))) // the export directory
	b.Write(make([]byte, 15*8))
	b.WriteString(".edata\x00\x00")
	put(&b, uint32(size), uint32(section), uint32(size), uint32(unit), uint32(0), uint32(0), uint32(0), uint32(0x40000040))
	return b.Bytes()
}
