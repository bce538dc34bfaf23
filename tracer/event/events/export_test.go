package events

// OthersText is the content of others.txt.gz.
func OthersText() []byte {
	text, err := unpackOthers()
	if err != nil {
		panic(err)
	}
	return text
}
