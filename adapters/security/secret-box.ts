import { randomBytes } from 'node:crypto'
import { secret } from '../../core/kernel/secret.ts'
import type { SealedPlace, SecretBox } from '../../core/kernel/secret.ts'
import { aeadOverhead, decrypt, encrypt } from './aead.ts'
import type { KeyWrapper } from './aead.ts'

const formatVersion = 1
const dataKeyLength = 32

/** `version 1 | length of key id | key id | length of wrapped key (2 bytes) | wrapped data key | iv 12 | ciphertext | tag 16`. */
interface BoxParts {
  readonly keyId: string
  readonly wrappedKey: Uint8Array
  readonly sealed: Uint8Array
}

/** Envelope encryption: each value has a random data key, wrapped by `wrapper`. The place is authenticated with the value. */
export const makeSecretBox = (wrapper: KeyWrapper): SecretBox => ({
  seal: async (plain, place) => {
    const dataKey = randomBytes(dataKeyLength)
    const sealed = encrypt(dataKey, Buffer.from(plain.reveal(), 'utf8'), placeBytes(place))
    return joined({ keyId: wrapper.currentKeyId, wrappedKey: await wrapper.wrap(dataKey), sealed })
  },
  open: async (box, place) => {
    const { keyId, wrappedKey, sealed } = parted(box)
    const plain = decrypt(await wrapper.unwrap(keyId, wrappedKey), sealed, placeBytes(place))
    return secret(Buffer.from(plain).toString('utf8'))
  },
  rewrap: async (box) => {
    const { keyId, wrappedKey, sealed } = parted(box)
    const dataKey = await wrapper.unwrap(keyId, wrappedKey)
    return joined({ keyId: wrapper.currentKeyId, wrappedKey: await wrapper.wrap(dataKey), sealed })
  },
  keyIdOf: (box) => parted(box).keyId,
})

/** Encodes each part with its length, so that different places have different bytes. */
const placeBytes = ({ table, column, tenantId, rowRef }: SealedPlace): Uint8Array =>
  Buffer.concat(
    [String(formatVersion), table, column, String(tenantId), rowRef].flatMap((part) => {
      const bytes = Buffer.from(part, 'utf8')
      const length = Buffer.alloc(4)
      length.writeUInt32BE(bytes.length)
      return [length, bytes]
    }),
  )

const joined = ({ keyId, wrappedKey, sealed }: BoxParts): Uint8Array => {
  const id = Buffer.from(keyId, 'ascii')
  const wrappedLength = Buffer.alloc(2)
  wrappedLength.writeUInt16BE(wrappedKey.length)
  return new Uint8Array(Buffer.concat([Buffer.from([formatVersion, id.length]), id, wrappedLength, wrappedKey, sealed]))
}

const parted = (box: Uint8Array): BoxParts => {
  const bytes = Buffer.from(box.buffer, box.byteOffset, box.byteLength)
  if (bytes.length < 4 || bytes[0] !== formatVersion) throw new Error('A sealed value has an unknown format.')
  const wrappedAt = 2 + (bytes[1] ?? 0)
  if (bytes.length < wrappedAt + 2) throw new Error('A sealed value is cut short.')
  const sealedAt = wrappedAt + 2 + bytes.readUInt16BE(wrappedAt)
  if (bytes.length < sealedAt + aeadOverhead) throw new Error('A sealed value is cut short.')
  return {
    keyId: bytes.toString('ascii', 2, wrappedAt),
    wrappedKey: bytes.subarray(wrappedAt + 2, sealedAt),
    sealed: bytes.subarray(sealedAt),
  }
}
