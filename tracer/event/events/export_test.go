package events

// What the tests of the embedded format files need.
const FullID = fullID

var WithID = withID

// OthersText is the content of others.txt.gz.
func OthersText() []byte { return unpacked(othersText) }

// FullText is the content of full.txt.gz.
func FullText() []byte { return unpacked(fullText) }

func unpacked(packed []byte) []byte {
	text, err := unpack(packed)
	if err != nil {
		panic(err)
	}
	return text
}
