import * as t from 'io-ts'
import type { Secret } from '../../../core/kernel/secret.ts'
import type { PasskeyRecord } from '../../../core/identity/passkey-ports.ts'
import { unixSeconds } from '../../../core/kernel/clock.ts'
import {
  answer,
  described,
  freeText,
  FreeObjectCodec,
  listOf,
  oneOf,
  optional,
  patternText,
  request,
  SafeInteger,
} from '../../kit/codecs.ts'

const Base64Url = (max: number) => patternText(/^[\w-]*$/, max, 'base64url')

export const PasskeyAssertion = request(
  {
    id: described(Base64Url(1400), 'The id of the credential, base64url.'),
    rawId: described(Base64Url(1400), 'The same as `id`.'),
    type: described(oneOf('public-key'), 'The type of the credential.'),
    response: described(
      request(
        {
          clientDataJSON: described(Base64Url(4000), 'What the browser signed for, base64url.'),
          authenticatorData: described(Base64Url(4000), 'What the authenticator says, base64url.'),
          signature: described(Base64Url(4000), 'The signature, base64url.'),
          userHandle: described(optional(Base64Url(100)), 'The handle of the user, base64url.'),
        },
        'PasskeyAssertionResponse',
      ),
      'What the authenticator answered.',
    ),
    authenticatorAttachment: described(
      optional(freeText(20)),
      'Whether the authenticator is part of the device. It is not used.',
    ),
    clientExtensionResults: described(optional(FreeObjectCodec), 'Results of extensions. They are not used.'),
  },
  'PasskeyAssertion',
)

export const PasskeyRegistration = request(
  {
    id: described(Base64Url(1400), 'The id of the credential, base64url.'),
    rawId: described(Base64Url(1400), 'The same as `id`.'),
    type: described(oneOf('public-key'), 'The type of the credential.'),
    response: described(
      request(
        {
          clientDataJSON: described(Base64Url(4000), 'What the browser signed for, base64url.'),
          attestationObject: described(Base64Url(20_000), 'The new key, base64url.'),
          transports: described(
            optional(listOf(freeText(20), 10)),
            'How the browser reaches the authenticator, such as `usb`.',
          ),
          authenticatorData: described(optional(Base64Url(4000)), 'A part of `attestationObject`. It is not used.'),
          publicKey: described(optional(Base64Url(4000)), 'A part of `attestationObject`. It is not used.'),
          publicKeyAlgorithm: described(optional(SafeInteger), 'A part of `attestationObject`. It is not used.'),
        },
        'PasskeyRegistrationResponse',
      ),
      'What the authenticator answered.',
    ),
    authenticatorAttachment: described(
      optional(freeText(20)),
      'Whether the authenticator is part of the device. It is not used.',
    ),
    clientExtensionResults: described(optional(FreeObjectCodec), 'Results of extensions. They are not used.'),
  },
  'PasskeyRegistration',
)

export const PasskeySignInParams = request(
  {
    passkey: described(PasskeyAssertion, 'The response of the browser, `PublicKeyCredential.toJSON()`.'),
    remember: described(
      optional(t.boolean),
      'Whether a second cookie opens a new session after the end of this one; false by default, and without ' +
        'effect if the operator switched this off.',
    ),
  },
  'PasskeySignInParams',
)

export const PasskeyOptions = answer(
  {
    publicKey: described(FreeObjectCodec, 'The options for `navigator.credentials`, in the JSON form of WebAuthn.'),
  },
  'PasskeyOptions',
)

const passkeyFields = {
  ID: described(SafeInteger, 'The id of the passkey, from 1.'),
  Name: described(t.string, 'The name that the user gave to it.'),
  UID: described(SafeInteger, 'The id of the user.'),
  createdAt: described(SafeInteger, 'The registration, in seconds since the epoch.'),
  lastUsedAt: described(SafeInteger, 'The last use, in seconds since the epoch; 0 if it was not used yet.'),
  transports: described(t.array(t.string), 'How a browser reaches the authenticator, such as `usb` or `internal`.'),
  backedUp: described(t.boolean, 'Whether the provider of the passkey keeps a copy of it.'),
  aaguid: described(t.string, 'The model of the authenticator, a UUID; all zeros if it is not disclosed.'),
}
export const WebAuthnSecurityKeys = answer(passkeyFields, 'WebAuthnSecurityKeys')
export const RegisteredPasskeyBody = answer(
  {
    ...passkeyFields,
    recoveryCodes: described(
      optional(t.array(t.string)),
      'Ten recovery codes, if the account had none. They are never returned again.',
    ),
  },
  'RegisteredPasskey',
)

export const passkeyWire = (key: PasskeyRecord) => ({
  ID: key.id,
  Name: key.name,
  UID: key.userId,
  createdAt: unixSeconds(key.createdAt),
  lastUsedAt: key.lastUsedAt === undefined ? 0 : unixSeconds(key.lastUsedAt),
  transports: [...key.transports],
  backedUp: key.isBackedUp,
  aaguid: key.aaguid,
})

/** Returns a new passkey, with the recovery codes that are shown only now. */
export const registeredWire = (key: PasskeyRecord, codes: readonly Secret[] | undefined) => ({
  ...passkeyWire(key),
  recoveryCodes: codes?.map((code) => code.reveal()),
})
