package servertest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// ReplyError is an error that the server replied, such as "NOPERM this user has
// no permissions…".
type ReplyError string

func (e ReplyError) Error() string { return string(e) }

// conn speaks RESP2, the protocol that every server understands without a
// handshake. It is here so that tests of a client stand on no client.
type conn struct {
	net.Conn
	reader *bufio.Reader
}

// dial connects; the connection fails once the timeout, for all of it, is over.
func dial(network, addr string, timeout time.Duration) (*conn, error) {
	c, err := net.DialTimeout(network, addr, timeout)
	if err != nil {
		return nil, err
	}
	if err := c.SetDeadline(time.Now().Add(timeout)); err != nil {
		c.Close()
		return nil, err
	}
	return &conn{c, bufio.NewReader(c)}, nil
}

// do sends a command and returns its reply. An error reply is the error.
func (c *conn) do(args ...string) (any, error) {
	var request strings.Builder
	fmt.Fprintf(&request, "*%d\r\n", len(args))
	for _, arg := range args {
		fmt.Fprintf(&request, "$%d\r\n%s\r\n", len(arg), arg)
	}
	if _, err := io.WriteString(c, request.String()); err != nil {
		return nil, err
	}
	reply, err := c.read()
	if err != nil {
		return nil, err
	}
	if refused, ok := reply.(ReplyError); ok {
		return nil, refused
	}
	return reply, nil
}

// read returns one reply: string, int64, []any, nil, or ReplyError.
func (c *conn) read() (any, error) {
	line, err := c.reader.ReadString('\n')
	if err != nil {
		return nil, err
	}
	line = strings.TrimSuffix(line, "\r\n")
	if line == "" {
		return nil, errors.New("empty reply")
	}
	rest := line[1:]
	switch line[0] {
	case '+':
		return rest, nil
	case '-':
		return ReplyError(rest), nil
	case ':':
		return strconv.ParseInt(rest, 10, 64)
	case '$':
		return c.readBulk(rest)
	case '*':
		return c.readArray(rest)
	}
	return nil, fmt.Errorf("reply of an unknown type: %q", line)
}

func (c *conn) readBulk(length string) (any, error) {
	n, err := strconv.Atoi(length)
	if err != nil || n < 0 {
		return nil, err // -1 is nil
	}
	bytes := make([]byte, n+len("\r\n"))
	if _, err := io.ReadFull(c.reader, bytes); err != nil {
		return nil, err
	}
	return string(bytes[:n]), nil
}

func (c *conn) readArray(length string) (any, error) {
	n, err := strconv.Atoi(length)
	if err != nil || n < 0 {
		return nil, err // -1 is nil
	}
	all := make([]any, n)
	for i := range all {
		if all[i], err = c.read(); err != nil {
			return nil, err
		}
	}
	return all, nil
}
