import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'

/** What a test changes about an authenticator, a browser or a response. */
export interface Faults {
  readonly origin?: string
  readonly rpId?: string
  /** Whether the user was verified. */
  readonly isVerified?: boolean
  readonly counter?: number
}

interface Options {
  readonly challenge: string
  readonly rpId?: string
  readonly rp?: { readonly id: string }
  readonly user?: { readonly id: string }
}

const base64url = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url')
const sha256 = (bytes: Uint8Array | string): Buffer => createHash('sha256').update(bytes).digest()

/** CBOR, as much of it as an attestation without a statement and a key on P-256 need. */
const cbor = (value: unknown): Buffer => {
  const head = (major: number, n: number): Buffer =>
    n < 24
      ? Buffer.from([(major << 5) | n])
      : n < 256
        ? Buffer.from([(major << 5) | 24, n])
        : Buffer.from([(major << 5) | 25, n >> 8, n & 255])
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value)
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (value instanceof Uint8Array) return Buffer.concat([head(2, value.length), value])
  const entries = [...(value as Map<unknown, unknown>)]
  return Buffer.concat([head(5, entries.length), ...entries.flatMap(([key, item]) => [cbor(key), cbor(item)])])
}

const clientData = (type: string, challenge: string, origin: string): string =>
  base64url(Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false })))

/** An authenticator with one key for one site, and the browser in front of it. */
export const makeSoftwareAuthenticator = (site: { readonly origin: string }) => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const id = randomBytes(20)
  let handle: string | undefined
  const jwk = publicKey.export({ format: 'jwk' })
  const coordinate = (text: string | undefined): Buffer => Buffer.from(text ?? '', 'base64url')
  const cose = cbor(
    new Map<number, unknown>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, coordinate(jwk.x)],
      [-3, coordinate(jwk.y)],
    ]),
  )
  const dataOf = (rpId: string, { isVerified = true, counter = 0 }: Faults, attested?: Buffer): Buffer => {
    const flags = 1 | (isVerified ? 4 : 0) | (attested === undefined ? 0 : 64)
    const count = Buffer.alloc(4)
    count.writeUInt32BE(counter)
    return Buffer.concat([sha256(rpId), Buffer.from([flags]), count, attested ?? Buffer.alloc(0)])
  }
  const credential = { id: base64url(id), rawId: base64url(id), type: 'public-key' }
  return {
    id: credential.id,
    /** Answers the options of a registration. */
    create(options: Options, faults: Faults = {}) {
      handle = options.user?.id
      const length = Buffer.from([0, id.length])
      const data = dataOf(
        faults.rpId ?? options.rp?.id ?? '',
        faults,
        Buffer.concat([Buffer.alloc(16), length, id, cose]),
      )
      const attestation = cbor(
        new Map<string, unknown>([
          ['fmt', 'none'],
          ['attStmt', new Map()],
          ['authData', data],
        ]),
      )
      const response = {
        clientDataJSON: clientData('webauthn.create', options.challenge, faults.origin ?? site.origin),
        attestationObject: base64url(attestation),
        transports: ['internal'],
      }
      return { ...credential, response }
    },
    /** Answers the options of a sign-in or a proof. */
    get(options: Options, faults: Faults = {}) {
      const clientDataJSON = clientData('webauthn.get', options.challenge, faults.origin ?? site.origin)
      const data = dataOf(faults.rpId ?? options.rpId ?? '', faults)
      const signed = Buffer.concat([data, sha256(Buffer.from(clientDataJSON, 'base64url'))])
      const response = {
        clientDataJSON,
        authenticatorData: base64url(data),
        signature: base64url(sign('sha256', signed, privateKey)),
        userHandle: handle,
      }
      return { ...credential, response }
    },
  }
}
export type SoftwareAuthenticator = ReturnType<typeof makeSoftwareAuthenticator>
