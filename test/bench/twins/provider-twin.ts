import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import * as jose from 'jose'
import { announce } from './ready.ts'

// An OpenID Connect provider that lets everyone in: a code names the person and the nonce of the sign-in.

const { privateKey, publicKey } = await jose.generateKeyPair('ES256')
const key = { ...(await jose.exportJWK(publicKey)), kid: 'one', alg: 'ES256', use: 'sig' }

const tokens = async (issuer: string, code: string): Promise<object> => {
  const [sub = '', nonce = ''] = code.split('.')
  const claims = {
    nonce,
    email: `${sub}@corp.test`,
    email_verified: true,
    preferred_username: sub,
    name: 'Ada Lovelace',
  }
  const idToken = await new jose.SignJWT(claims)
    .setProtectedHeader({ alg: 'ES256', kid: key.kid })
    .setIssuer(issuer)
    .setAudience('moorage')
    .setSubject(sub)
    .setIssuedAt()
    .setExpirationTime('5m')
    .sign(privateKey)
  return { token_type: 'Bearer', access_token: code, refresh_token: code, id_token: idToken, expires_in: 300 }
}

const server = createServer((req, res) => {
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const answer = async (): Promise<object> => {
    if (req.url === '/jwks') return { keys: [key] }
    if (req.url === '/token') return tokens(issuer, new URLSearchParams(await text(req)).get('code') ?? '')
    return {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
      id_token_signing_alg_values_supported: ['ES256'],
    }
  }
  void answer().then((body) => res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body)))
})
announce(server)
