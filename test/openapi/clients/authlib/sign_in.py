"""Signs a person in with authlib. Reads a command a line, and answers each with a line of JSON."""

import json
import sys

from authlib.common.security import generate_token
from authlib.integrations.requests_client import OAuth2Session
from authlib.jose import JsonWebKey, jwt
from authlib.oidc.core import CodeIDToken

issuer, client_id, client_secret, redirect_uri = sys.argv[1:]
session = OAuth2Session(
    client_id,
    client_secret,
    scope="openid profile email groups offline_access",
    redirect_uri=redirect_uri,
    code_challenge_method="S256",
)
metadata = session.get(issuer + "/.well-known/openid-configuration", withhold_token=True).json()
verifier, nonce = generate_token(48), generate_token()
state = None


def run(command, argument):
    global state
    if command == "begin":
        url, state = session.create_authorization_url(
            metadata["authorization_endpoint"], code_verifier=verifier, nonce=nonce
        )
        return url
    if command == "redeem":
        token = session.fetch_token(
            metadata["token_endpoint"], authorization_response=argument, state=state, code_verifier=verifier
        )
        keys = JsonWebKey.import_key_set(session.get(metadata["jwks_uri"], withhold_token=True).json())
        claims = jwt.decode(
            token["id_token"],
            keys,
            claims_cls=CodeIDToken,
            claims_options={"iss": {"values": [issuer]}, "aud": {"values": [client_id]}},
            claims_params={"nonce": nonce, "client_id": client_id},
        )
        claims.validate()
        return claims
    if command == "refresh":
        before = session.token["refresh_token"]
        return session.refresh_token(metadata["token_endpoint"])["refresh_token"] != before
    if command == "userinfo":
        answer = session.get(metadata["userinfo_endpoint"])
        answer.raise_for_status()
        return answer.json()
    if command == "revoke":
        token = session.token["refresh_token"]
        return session.revoke_token(metadata["revocation_endpoint"], token=token).status_code
    raise ValueError(command)


for line in sys.stdin:
    command, _, argument = line.strip().partition(" ")
    try:
        answer = {"value": run(command, argument)}
    except Exception as error:  # The test reads what authlib makes of a refusal.
        answer = {"error": str(error)}
    print(json.dumps(answer), flush=True)
