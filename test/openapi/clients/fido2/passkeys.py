"""Registers a passkey and signs in with it, with the types of python-fido2. Arguments: base URL, token, password."""

import hashlib
import json
import os
import sys
import urllib.error
import urllib.request
from http.cookiejar import CookieJar

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from fido2.cose import ES256
from fido2.webauthn import (
    Aaguid,
    AttestationObject,
    AttestedCredentialData,
    AuthenticationResponse,
    AuthenticatorAssertionResponse,
    AuthenticatorAttestationResponse,
    AuthenticatorData,
    CollectedClientData,
    PublicKeyCredentialCreationOptions,
    PublicKeyCredentialRequestOptions,
    RegistrationResponse,
)

base, token, password = sys.argv[1:4]
browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
flag = AuthenticatorData.FLAG
verified = flag.UP | flag.UV | flag.BE | flag.BS


def call(path, body=None, **headers):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{base}/api/v1{path}", data, {"Content-Type": "application/json", **headers}, method="POST")
    try:
        with browser.open(request) as reply:
            return reply.status, json.loads(reply.read() or b"null")
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"null")


bearer = {"Authorization": f"Bearer {token}"}
keys = "/user/settings/security/webauthn"
_, offer = call(f"{keys}/request_register", {"name": "Python", "password": password}, **bearer)
options = PublicKeyCredentialCreationOptions.from_dict(offer["publicKey"])
print("options:", options.rp.id, options.authenticator_selection.resident_key.value)
host = hashlib.sha256(options.rp.id.encode()).digest()
private = ec.generate_private_key(ec.SECP256R1())
credential = os.urandom(32)
attested = AttestedCredentialData.create(
    Aaguid(bytes(16)), credential, ES256.from_cryptography_key(private.public_key())
)
created = AuthenticatorAttestationResponse(
    client_data=CollectedClientData.create("webauthn.create", options.challenge, base),
    attestation_object=AttestationObject.create("none", AuthenticatorData.create(host, verified | flag.AT, 0, attested), {}),
)
status, added = call(f"{keys}/register", dict(RegistrationResponse(raw_id=credential, response=created)), **bearer)
print("register:", status, added["Name"], added["backedUp"])

_, offer = call("/user/signin/passkey/request")
options = PublicKeyCredentialRequestOptions.from_dict(offer["publicKey"])
client = CollectedClientData.create("webauthn.get", options.challenge, base)
data = AuthenticatorData.create(host, verified, 0)
signature = private.sign(bytes(data) + client.hash, ec.ECDSA(hashes.SHA256()))
response = AuthenticatorAssertionResponse(
    client_data=client, authenticator_data=data, signature=signature, user_handle=None
)
passkey = {"passkey": dict(AuthenticationResponse(raw_id=credential, response=response))}
print("sign in:", call("/user/signin/passkey", passkey)[0])
print("again:", call("/user/signin/passkey", passkey)[1]["code"])
