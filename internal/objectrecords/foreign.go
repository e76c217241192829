package objectrecords

import (
	"bytes"
	"strings"
)

// headBytes is how much of a text is looked at to tell whether it is one.
const headBytes = 8 << 10

// foreign are the first bytes of what is often met in place of text, decoded text
// included: a compressed archive is as foreign. The two codings that are read are
// here for texts that were compressed twice.
var foreign = []struct{ begins, is string }{
	{"\x00\x00\xfe\xff", "UTF-32"},
	{"\xff\xfe\x00\x00", "UTF-32"},
	{"\xff\xfe", "UTF-16"},
	{"\xfe\xff", "UTF-16"},
	{"\x1f\x8b", "gzip twice over"},
	{"\x28\xb5\x2f\xfd", "zstd twice over"},
	{"BZh", "bzip2"}, // followed by its level and one of two blocks, see isForeign
	{"\xfd7zXZ\x00", "xz"},
	{"\x5d\x00\x00", "lzma"},
	{"\x04\x22\x4d\x18", "lz4"},
	{"\x02\x21\x4c\x18", "lz4"},
	{"\xff\x06\x00\x00sNaPpY", "snappy"},
	{"\x89LZO\x00", "lzop"},
	{"LZIP\x01", "lzip"},
	{"\x1f\x9d", "compress (.Z)"},
	{"\x1f\xa0", "compress (.Z)"},
	{"PK\x03\x04", "a zip archive"},
	{"PK\x05\x06", "a zip archive"},
	{"PK\x07\x08", "a zip archive"},
	{"7z\xbc\xaf\x27\x1c", "a 7z archive"},
	{"Rar!\x1a\x07", "a rar archive"},
	{"PAR1", "Parquet"},
	{"Obj\x01", "Avro"},
	{"ORC", "ORC"},
}

// isBlock are how the blocks of bzip2, and its end where there is none, begin.
var isBlock = []string{"\x31\x41\x59\x26\x53\x59", "\x17\x72\x45\x38\x50\x90"}

// notText tells why a text that begins so can't be read, "" for one that can: it is
// of another encoding, compressed in another way, or no text at all. What is read is
// UTF-8, or whatever else keeps lines as ASCII has them.
func notText(head []byte) string {
	for _, f := range foreign {
		if isForeign(head, f.begins) {
			return "this is " + f.is + "; what is read is text in UTF-8, plain or compressed with gzip or zstd"
		}
	}
	if at := bytes.IndexByte(head, 0); at >= 0 {
		if isWide(head) {
			return "this looks like UTF-16 or UTF-32; what is read is text in UTF-8"
		}
		return "this is no text: it has bytes of zero"
	}
	if n := controls(head); n > mostControls && n*50 > len(head) {
		return "this is no text: it has bytes that stand for no character"
	}
	return ""
}

// isForeign says whether a text begins like that. Where the first bytes may well be
// those of text, what follows them decides.
func isForeign(head []byte, begins string) bool {
	if !bytes.HasPrefix(head, []byte(begins)) {
		return false
	}
	behind := head[len(begins):]
	switch begins {
	case "BZh":
		for _, block := range isBlock {
			if len(behind) > 0 && behind[0] >= '1' && behind[0] <= '9' && bytes.HasPrefix(behind[1:], []byte(block)) {
				return true
			}
		}
		return false
	case "PAR1", "ORC", "PK\x07\x08":
		return bytes.IndexByte(behind, 0) >= 0 || controls(behind) > mostControls
	default:
		return true
	}
}

// isWide says that every other byte is zero, or nearly, as in Latin text of two or
// four bytes a character.
func isWide(head []byte) bool {
	zeros := [2]int{}
	for i, c := range head {
		if c == 0 {
			zeros[i%2]++
		}
	}
	half := len(head) / 2
	return half > 0 && max(zeros[0], zeros[1])*10 >= half*9
}

// mostControls is how many a short text may have.
const mostControls = 2

// controls counts the control characters that no text has. Separators that formats of
// lines use (of Hive, of JSON sequences) and the escapes of terminals are none.
func controls(head []byte) (n int) {
	for _, c := range head {
		if c < ' ' && !strings.ContainsRune("\t\n\v\f\r\b\x1b\x01\x02\x03\x1c\x1d\x1e\x1f", rune(c)) || c == 0x7f {
			n++
		}
	}
	return n
}
