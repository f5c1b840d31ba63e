import { isIP } from 'node:net'
import type { FreeObject } from '../../core/kernel/json.ts'
import type {
  AssertionResponse,
  RegistrationResponse,
  RelyingParty,
  WebAuthn,
} from '../../core/identity/passkey-ports.ts'
import { challengeSeconds } from '../../core/identity/passkey-ports.ts'

/** COSE: EdDSA, ES256, RS256. */
const algorithms = [-8, -7, -257]
const timeout = challengeSeconds * 1000

/** Returns what browsers accept as a party: an origin that is encrypted, or local, with the name of a host. */
export const relyingPartyAt = (baseUrl: string | undefined): RelyingParty | undefined => {
  if (baseUrl === undefined) return undefined
  const { hostname, origin, protocol } = new URL(baseUrl)
  if (isIP(hostname.replaceAll(/[[\]]/g, '')) !== 0) return undefined
  return protocol === 'https:' || hostname === 'localhost' ? { id: hostname, origin } : undefined
}

/** The library is loaded at the first use: most processes never need it. */
const library = () => import('@simplewebauthn/server')
type Transport = 'ble' | 'cable' | 'hybrid' | 'internal' | 'nfc' | 'smart-card' | 'usb'
const knownTransports: ReadonlySet<string> = new Set<Transport>([
  'ble',
  'cable',
  'hybrid',
  'internal',
  'nfc',
  'smart-card',
  'usb',
])
const transportsOf = (words: readonly string[] = []): Transport[] =>
  [...new Set(words)].filter((word): word is Transport => knownTransports.has(word))

const descriptorOf = (key: { readonly credentialId: string; readonly transports: readonly string[] }) => ({
  id: key.credentialId,
  transports: transportsOf(key.transports),
})

const ownBytes = (bytes: Uint8Array): Uint8Array<ArrayBuffer> => new Uint8Array(bytes)

const base64url = /^[\w-]{16,256}$/

/** The library throws for each fault of a response; none of them is a fault of this service. */
const unlessInvalid = async <A>(verify: () => Promise<A | undefined>): Promise<A | undefined> => {
  try {
    return await verify()
  } catch {
    return undefined
  }
}

/** WebAuthn by the library `@simplewebauthn/server`, for the host of the base URL. */
export const makeSimpleWebAuthn = (baseUrl: string | undefined): WebAuthn => ({
  relyingParty: relyingPartyAt(baseUrl),
  async creationOptions({ id }, challenge, { handle, name, displayName, keys }) {
    const { generateRegistrationOptions } = await library()
    const options = await generateRegistrationOptions({
      rpName: 'Moorage',
      rpID: id,
      userID: ownBytes(handle),
      userName: name,
      userDisplayName: displayName,
      challenge: ownBytes(challenge),
      timeout,
      attestationType: 'none',
      excludeCredentials: keys.map(descriptorOf),
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      supportedAlgorithmIDs: algorithms,
    })
    return options as unknown as FreeObject
  },
  async requestOptions({ id }, challenge, keys) {
    const { generateAuthenticationOptions } = await library()
    const options = await generateAuthenticationOptions({
      rpID: id,
      challenge: ownBytes(challenge),
      timeout,
      allowCredentials: keys.map(descriptorOf),
      userVerification: 'required',
    })
    return options as unknown as FreeObject
  },
  challengeOf({ response }: RegistrationResponse | AssertionResponse) {
    try {
      const { challenge } = JSON.parse(Buffer.from(response.clientDataJSON, 'base64url').toString()) as FreeObject
      return typeof challenge === 'string' && base64url.test(challenge) ? challenge : undefined
    } catch {
      return undefined
    }
  },
  verifyRegistration: (party, { id, rawId, response }, challenge) =>
    unlessInvalid(async () => {
      const { verifyRegistrationResponse } = await library()
      const transports = transportsOf(response.transports)
      const { registrationInfo } = await verifyRegistrationResponse({
        response: {
          id,
          rawId,
          type: 'public-key',
          response: { ...response, transports },
          clientExtensionResults: {},
        },
        expectedChallenge: challenge,
        expectedOrigin: party.origin,
        expectedRPID: party.id,
        requireUserVerification: true,
        supportedAlgorithmIDs: algorithms,
      })
      if (registrationInfo === undefined || registrationInfo.credential.id !== id) return undefined
      const { aaguid, credential, credentialBackedUp } = registrationInfo
      return {
        credentialId: credential.id,
        publicKey: credential.publicKey,
        counter: credential.counter,
        transports,
        aaguid,
        isBackedUp: credentialBackedUp,
      }
    }),
  verifyAssertion: (party, { id, rawId, response }, challenge, { credentialId, publicKey, handle }) =>
    unlessInvalid(async () => {
      const { userHandle, ...signed } = response
      if (userHandle !== undefined && userHandle !== Buffer.from(handle).toString('base64url')) return undefined
      const { verifyAuthenticationResponse } = await library()
      const { verified, authenticationInfo } = await verifyAuthenticationResponse({
        response: { id, rawId, type: 'public-key', response: signed, clientExtensionResults: {} },
        expectedChallenge: challenge,
        expectedOrigin: party.origin,
        expectedRPID: party.id,
        // The counter is judged by the rule of the core: the library refuses synchronized keys as well.
        credential: { id: credentialId, publicKey: ownBytes(publicKey), counter: 0 },
        requireUserVerification: true,
      })
      return verified
        ? { counter: authenticationInfo.newCounter, isBackedUp: authenticationInfo.credentialBackedUp }
        : undefined
    }),
})
