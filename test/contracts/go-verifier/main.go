// Command go-verifier checks licenses as a verifier in Go does. It reads cases as a JSON list from standard input, and writes the
// reason of each refusal as a JSON list of strings; an accepted license has an empty one.
package main

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"os"
	"slices"
	"time"
)

type check struct {
	CA, License, CRL, Cluster, Feature string
	At                                 int64
}

func verify(c check) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(c.CA))
	block, _ := pem.Decode([]byte(c.License))
	license, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return err
	}
	chains, err := license.Verify(x509.VerifyOptions{
		DNSName: c.Cluster, Roots: roots, CurrentTime: time.Unix(c.At, 0), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return err
	}
	if !slices.Contains(license.Subject.Organization, c.Feature) {
		return errors.New("the feature is not licensed")
	}
	authority := chains[0][len(chains[0])-1]
	for block, rest := pem.Decode([]byte(c.CRL)); block != nil; block, rest = pem.Decode(rest) {
		list, err := x509.ParseRevocationList(block.Bytes)
		if err != nil {
			return err
		}
		if !bytes.Equal(list.RawIssuer, authority.RawSubject) || list.CheckSignatureFrom(authority) != nil {
			continue
		}
		for _, entry := range list.RevokedCertificateEntries {
			if entry.SerialNumber.Cmp(license.SerialNumber) == 0 {
				return errors.New("the license is revoked")
			}
		}
	}
	return nil
}

func main() {
	var checks []check
	if err := json.NewDecoder(os.Stdin).Decode(&checks); err != nil {
		panic(err)
	}
	refusals := []string{}
	for _, each := range checks {
		reason := ""
		if err := verify(each); err != nil {
			reason = err.Error()
		}
		refusals = append(refusals, reason)
	}
	if err := json.NewEncoder(os.Stdout).Encode(refusals); err != nil {
		panic(err)
	}
}
