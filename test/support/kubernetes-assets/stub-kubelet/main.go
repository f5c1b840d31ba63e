// stub-kubelet answers the part of the kubelet's API that kube-apiserver uses
// for logs, exec, attach and port-forward, with the kubelet's own streaming
// code and canned containers. It authenticates nobody: loopback and tests only.
//
// It prints "listening <port>" once it can be reached and ends when its
// standard input closes, so it never outlives the test run that started it.
package main

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	remotecommandconsts "k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/client-go/util/cert"
	"k8s.io/kubelet/pkg/cri/streaming/portforward"
	"k8s.io/kubelet/pkg/cri/streaming/remotecommand"
)

const (
	idleTimeout     = 10 * time.Minute
	creationTimeout = 30 * time.Second
)

// openStreams counts the log, exec, attach and port-forward requests in progress.
var openStreams atomic.Int64

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve() error {
	certPem, keyPem, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(certPem, keyPem)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	server := &http.Server{
		Handler: routes(),
		// SPDY takes over the connection, which HTTP/2 cannot give away.
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
		TLSConfig:    &tls.Config{Certificates: []tls.Certificate{pair}},
	}
	fmt.Printf("listening %d\n", listener.Addr().(*net.TCPAddr).Port)
	return server.ServeTLS(listener, "", "")
}

func routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "ok")
	})
	mux.HandleFunc("GET /open-streams", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]int64{"openStreams": openStreams.Load()})
	})
	mux.HandleFunc("/containerLogs/{namespace}/{pod}/{container}", counted(serveLogs))
	mux.HandleFunc("/exec/{namespace}/{pod}/{container}", counted(serveExec))
	mux.HandleFunc("/attach/{namespace}/{pod}/{container}", counted(serveAttach))
	mux.HandleFunc("/portForward/{namespace}/{pod}", counted(servePortForward))
	return mux
}

func counted(handler http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		openStreams.Add(1)
		defer openStreams.Add(-1)
		handler(w, r)
	}
}

func serveExec(w http.ResponseWriter, r *http.Request) {
	options, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	remotecommand.ServeExec(w, r, containers{}, r.PathValue("pod"), types.UID(""), r.PathValue("container"),
		r.URL.Query()["command"], options, idleTimeout, creationTimeout, remotecommandconsts.SupportedStreamingProtocols)
}

func serveAttach(w http.ResponseWriter, r *http.Request) {
	options, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	remotecommand.ServeAttach(w, r, containers{}, r.PathValue("pod"), types.UID(""), r.PathValue("container"),
		options, idleTimeout, creationTimeout, remotecommandconsts.SupportedStreamingProtocols)
}

func servePortForward(w http.ResponseWriter, r *http.Request) {
	options, err := portforward.NewV4Options(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	portforward.ServePortForward(w, r, containers{}, r.PathValue("pod"), types.UID(""),
		options, idleTimeout, creationTimeout, portforward.SupportedProtocols)
}
