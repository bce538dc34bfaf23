package tool

import "strings"

// Option is one option of a command line.
type Option struct {
	Flag byte
	Arg  string
}

// Options parses short options in GNU's manner: anywhere, and until "--". spec
// lists the letters, a colon behind those with an argument. If ok is false, the
// mistake was reported and the program ends with status 2.
func (c *Call) Options(spec string) (list []Option, rest []string, ok bool) {
	for i := 0; i < len(c.Args); i++ {
		arg := c.Args[i]
		if arg == "--" {
			return list, append(rest, c.Args[i+1:]...), true
		}
		if len(arg) < 2 || arg[0] != '-' {
			rest = append(rest, arg)
			continue
		}
		if arg[1] == '-' {
			c.Usage("option %s is not in the lab", arg)
			return nil, nil, false
		}
		for j := 1; j < len(arg); j++ {
			at := strings.IndexByte(spec, arg[j])
			if at < 0 || arg[j] == ':' {
				c.Usage("option -%c is not in the lab", arg[j])
				return nil, nil, false
			}
			if at+1 == len(spec) || spec[at+1] != ':' {
				list = append(list, Option{arg[j], ""})
				continue
			}
			value := arg[j+1:]
			if value == "" {
				if i+1 == len(c.Args) {
					c.Usage("option -%c wants an argument", arg[j])
					return nil, nil, false
				}
				i++
				value = c.Args[i]
			}
			list = append(list, Option{arg[j], value})
			break
		}
	}
	return list, rest, true
}
