import { isLeft } from 'fp-ts/lib/Either.js'
import * as t from 'io-ts'
import type { CredentialCodec } from '../../core/clusters/ports.ts'
import { secret } from '../../core/kernel/secret.ts'

const StoredCredential = t.intersection([
  t.type({
    format: t.literal(1),
    server: t.string,
    identity: t.union([
      t.type({ kind: t.literal('token'), token: t.string }),
      t.type({ kind: t.literal('certificate'), certificatePem: t.string, keyPem: t.string }),
    ]),
  }),
  t.partial({ authorityPem: t.string, tlsServerName: t.string }),
])

/** Encodes as JSON with a format number. Every format ever written must remain readable. */
export const jsonCredentialCodec: CredentialCodec = {
  encode({ server, authorityPem, tlsServerName, identity }) {
    const revealed =
      identity.kind === 'token'
        ? { kind: identity.kind, token: identity.token.reveal() }
        : { kind: identity.kind, certificatePem: identity.certificatePem, keyPem: identity.keyPem.reveal() }
    return secret(JSON.stringify({ format: 1, server, authorityPem, tlsServerName, identity: revealed }))
  },
  decode(text) {
    const decoded = StoredCredential.decode(JSON.parse(text.reveal()))
    // The report of io-ts would quote the value.
    if (isLeft(decoded)) throw new Error('a stored cluster credential is not of the expected form')
    const { server, authorityPem, tlsServerName, identity } = decoded.right
    return {
      server,
      authorityPem,
      tlsServerName,
      identity:
        identity.kind === 'token'
          ? { kind: 'token', token: secret(identity.token) }
          : { kind: 'certificate', certificatePem: identity.certificatePem, keyPem: secret(identity.keyPem) },
    }
  },
}
