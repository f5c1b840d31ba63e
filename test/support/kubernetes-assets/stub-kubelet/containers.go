package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/remotecommand"
	utilexec "k8s.io/utils/exec"
)

const (
	storedLogLines = 5
	// echoPort is the port on which every stub pod answers with what it was sent.
	echoPort = 7
)

// containers is what runs in every stub pod.
type containers struct{}

// ExecInContainer knows these commands: `echo WORDS`, `cat`, `complain WORDS`
// (to stderr), `exit CODE`, `size` (prints each terminal size), `wait` (until
// the caller leaves). Anything else is not found, with a shell's status 127.
func (containers) ExecInContainer(ctx context.Context, _ string, _ types.UID, _ string, command []string, in io.Reader, out, errs io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize, _ time.Duration) error {
	if len(command) == 0 {
		return failure(127)
	}
	if tty || errs == nil {
		errs = out
	}
	words := strings.Join(command[1:], " ")
	switch command[0] {
	case "echo":
		_, err := fmt.Fprintln(out, words)
		return err
	case "complain":
		_, err := fmt.Fprintln(errs, words)
		return err
	case "cat":
		return copyAll(out, in)
	case "exit":
		code, err := strconv.Atoi(words)
		if err != nil {
			return err
		}
		if code == 0 {
			return nil
		}
		return failure(code)
	case "size":
		for size := range resize {
			if _, err := fmt.Fprintf(out, "%d %d\n", size.Width, size.Height); err != nil {
				return err
			}
		}
		return nil
	case "wait":
		if in != nil {
			return copyAll(io.Discard, in)
		}
		<-ctx.Done()
		return nil
	default:
		_, _ = fmt.Fprintf(errs, "%s: not found\n", command[0])
		return failure(127)
	}
}

// AttachContainer greets, then repeats what it reads.
func (containers) AttachContainer(_ context.Context, pod string, _ types.UID, container string, in io.Reader, out, _ io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize) error {
	if _, err := fmt.Fprintf(out, "attached to %s/%s\n", pod, container); err != nil {
		return err
	}
	return copyAll(out, in)
}

// PortForward echoes on echoPort; any other port is dialled on loopback.
func (containers) PortForward(_ context.Context, _ string, _ types.UID, port int32, stream io.ReadWriteCloser) error {
	defer stream.Close()
	if port == echoPort {
		_, err := io.Copy(stream, stream)
		return err
	}
	target, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port))))
	if err != nil {
		return err
	}
	defer target.Close()
	go func() {
		_, _ = io.Copy(target, stream)
		_ = target.(*net.TCPConn).CloseWrite()
	}()
	_, err = io.Copy(stream, target)
	return err
}

// serveLogs writes the stored lines (the last tailLines of them when asked),
// and with follow=true one more line every 100 ms until the caller leaves.
func serveLogs(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	where := strings.Join([]string{r.PathValue("namespace"), r.PathValue("pod"), r.PathValue("container")}, "/")
	first := 1
	if tail, err := strconv.Atoi(query.Get("tailLines")); err == nil {
		first = max(1, storedLogLines-tail+1)
	}
	w.Header().Set("Content-Type", "text/plain")
	for line := first; line <= storedLogLines; line++ {
		fmt.Fprintf(w, "%s line %d\n", where, line)
	}
	if query.Get("follow") != "true" {
		return
	}
	flusher := w.(http.Flusher)
	flusher.Flush()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for line := storedLogLines + 1; ; line++ {
		select {
		case <-r.Context().Done():
			return
		case <-ticker.C:
			if _, err := fmt.Fprintf(w, "%s line %d\n", where, line); err != nil {
				return
			}
			flusher.Flush()
		}
	}
}

func copyAll(out io.Writer, in io.Reader) error {
	if in == nil {
		return nil
	}
	_, err := io.Copy(out, in)
	return err
}

func failure(code int) error {
	return utilexec.CodeExitError{Err: fmt.Errorf("exit status %d", code), Code: code}
}
