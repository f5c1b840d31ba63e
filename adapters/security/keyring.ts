import { createCipheriv, createDecipheriv, createHash, createSecretKey, randomBytes } from 'node:crypto'
import type { SealedPlace, Secret, SecretBox } from '../../core/kernel/secret.ts'
import { secret } from '../../core/kernel/secret.ts'

const algorithm = 'aes-256-gcm'
const ivLength = 12
const tagLength = 16
/** Bytes that encryption adds. */
const aeadOverhead = ivLength + tagLength

/**
 * AES-256-GCM: random 12-byte iv, ciphertext, 16-byte tag. Node takes 4 to 8 times as long for a key that is given as
 * bytes.
 */
export const encrypt = (key: Uint8Array, plain: Uint8Array, associated: Uint8Array): Uint8Array => {
  const iv = randomBytes(ivLength)
  const cipher = createCipheriv(algorithm, createSecretKey(key), iv, { authTagLength: tagLength })
  cipher.setAAD(associated)
  return Buffer.concat([iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
}

/** Throws if any byte was changed. */
export const decrypt = (key: Uint8Array, box: Uint8Array, associated: Uint8Array): Uint8Array => {
  if (box.length < aeadOverhead) throw new Error('An encrypted value is too short.')
  const iv = box.subarray(0, ivLength)
  const decipher = createDecipheriv(algorithm, createSecretKey(key), iv, { authTagLength: tagLength })
  decipher.setAAD(associated)
  decipher.setAuthTag(box.subarray(box.length - tagLength))
  return Buffer.concat([decipher.update(box.subarray(ivLength, box.length - tagLength)), decipher.final()])
}

/**
 * Encrypts data keys under a key-encryption key, which may be stored elsewhere (a file, a vault, a cloud's key
 * service).
 */
export interface KeyWrapper {
  /** ASCII, at most 64 characters. */
  readonly currentKeyId: string
  /** Wraps under the current key, and returns its id. */
  wrap(dataKey: Uint8Array): Promise<{ readonly keyId: string; readonly wrapped: Uint8Array }>
  /** Throws if the key is unknown or the bytes were changed. */
  unwrap(keyId: string, wrapped: Uint8Array): Promise<Uint8Array>
}

/** The service's own keys, of 32 bytes each. */
export interface Keyring {
  readonly wrapper: KeyWrapper
  /** In the order in which they were added. */
  readonly keyIds: readonly string[]
  readonly auditKey: Secret<Uint8Array>
  readonly csrfKey: Secret<Uint8Array>
}

/** A key-encryption key: 32 bytes in base64. */
interface KeyEntry {
  readonly id: string
  readonly createdAt: string
  readonly key: string
}

/** The file's content. A key-encryption key is never removed while a sealed value names it. */
export interface KeyringContent {
  readonly version: 1
  readonly currentKeyId: string
  /** When the current key became it; absent for the first one. */
  readonly currentSince?: string
  /** In the order in which they were added. One after the current key waits for all instances to have it. */
  readonly keys: readonly KeyEntry[]
  readonly auditKey: string
  readonly csrfKey: string
}

const keyLength = 32
const keyIdForm = /^[\w-]{1,64}$/

const newKey = (): KeyEntry => {
  const key = randomBytes(keyLength)
  // The name is derived from the key, so that different keys in two key rings never have the same name.
  const id = `kek-${createHash('sha256').update('moorage key id').update(key).digest('hex').slice(0, 12)}`
  return { id, createdAt: new Date().toISOString(), key: key.toString('base64') }
}

export const newKeyring = (): KeyringContent => {
  const first = newKey()
  return {
    version: 1,
    currentKeyId: first.id,
    keys: [first],
    auditKey: randomBytes(keyLength).toString('base64'),
    csrfKey: randomBytes(keyLength).toString('base64'),
  }
}

/** Returns the key ring with an additional key-encryption key, which seals nothing yet. */
export const withAddedKey = (content: KeyringContent): KeyringContent => ({
  ...content,
  keys: [...content.keys, newKey()],
})

/** Returns the key ring with another of its keys as the one that seals new values. */
export const withCurrentKey = (content: KeyringContent, id: string, at: Date): KeyringContent => ({
  ...content,
  currentKeyId: id,
  currentSince: at.toISOString(),
})

/** Returns the key ring without a key. */
export const withoutKey = (content: KeyringContent, id: string): KeyringContent => ({
  ...content,
  keys: content.keys.filter((key) => key.id !== id),
})

/** Returns the key that was added after the current one, if there is one. */
export const waitingKeyOf = ({ keys, currentKeyId }: KeyringContent): string | undefined => {
  const last = keys.at(-1)
  return last === undefined || last.id === currentKeyId ? undefined : last.id
}

/** Checks the content and returns the keys. Throws an error that states the problem and contains no key. */
export const openKeyring = (content: unknown): Keyring => {
  const { version, currentKeyId, keys, auditKey, csrfKey } = (content ?? {}) as Partial<KeyringContent>
  if (version !== 1) throw new Error('its version is not 1')
  if (!Array.isArray(keys) || keys.length === 0) throw new Error('it holds no keys')
  const byId = new Map<string, Uint8Array>()
  for (const entry of keys as readonly Partial<KeyringContent['keys'][number]>[]) {
    const id = typeof entry.id === 'string' && keyIdForm.test(entry.id) ? entry.id : undefined
    if (id === undefined || byId.has(id)) throw new Error('a key has no id of its own')
    byId.set(id, keyBytes(entry.key, `the key ${id}`))
  }
  if (typeof currentKeyId !== 'string' || !byId.has(currentKeyId))
    throw new Error('its current key is not among its keys')
  return {
    wrapper: makeLocalKeyWrapper(byId, currentKeyId),
    keyIds: [...byId.keys()],
    auditKey: secret(keyBytes(auditKey, 'auditKey')),
    csrfKey: secret(keyBytes(csrfKey, 'csrfKey')),
  }
}

const keyBytes = (text: unknown, name: string): Uint8Array => {
  const bytes = typeof text === 'string' ? Buffer.from(text, 'base64') : Buffer.alloc(0)
  if (bytes.length !== keyLength) throw new Error(`${name} is not 32 bytes in base64`)
  return new Uint8Array(bytes)
}

const makeLocalKeyWrapper = (keys: ReadonlyMap<string, Uint8Array>, currentKeyId: string): KeyWrapper => {
  const keyOf = (id: string): Uint8Array => {
    const key = keys.get(id)
    if (key === undefined) throw new Error(`The key ring does not hold the key ${id} that a sealed value needs.`)
    return key
  }
  const associated = (id: string): Uint8Array => Buffer.from(`moorage data key v1 ${id}`, 'ascii')
  return {
    currentKeyId,
    wrap: async (dataKey) => ({
      keyId: currentKeyId,
      wrapped: encrypt(keyOf(currentKeyId), dataKey, associated(currentKeyId)),
    }),
    unwrap: async (keyId, wrapped) => decrypt(keyOf(keyId), wrapped, associated(keyId)),
  }
}

const formatVersion = 1
const dataKeyLength = 32

/**
 * `version 1 | length of key id | key id | length of wrapped key (2 bytes) | wrapped data key | iv 12 | ciphertext |
 * tag 16`.
 */
interface BoxParts {
  readonly keyId: string
  readonly wrappedKey: Uint8Array
  readonly sealed: Uint8Array
}

/**
 * Envelope encryption: each value has a random data key, wrapped by `wrapper`. The place is authenticated with the
 * value.
 */
export const makeSecretBox = (wrapper: KeyWrapper): SecretBox => ({
  seal: async (plain, place) => {
    const dataKey = randomBytes(dataKeyLength)
    const sealed = encrypt(dataKey, Buffer.from(plain.reveal(), 'utf8'), placeBytes(place))
    const { keyId, wrapped } = await wrapper.wrap(dataKey)
    return joined({ keyId, wrappedKey: wrapped, sealed })
  },
  open: async (box, place) => {
    const { keyId, wrappedKey, sealed } = parted(box)
    const plain = decrypt(await wrapper.unwrap(keyId, wrappedKey), sealed, placeBytes(place))
    return secret(Buffer.from(plain).toString('utf8'))
  },
  rewrap: async (box) => {
    const { keyId: before, wrappedKey, sealed } = parted(box)
    const { keyId, wrapped } = await wrapper.wrap(await wrapper.unwrap(before, wrappedKey))
    return joined({ keyId, wrappedKey: wrapped, sealed })
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

/**
 * Returns the bytes with which every value starts that a key seals. They are followed by the length of the wrapped data
 * key.
 */
export const startOfSealedBy = (keyId: string): Uint8Array =>
  new Uint8Array(Buffer.concat([Buffer.from([formatVersion, keyId.length]), Buffer.from(keyId, 'ascii')]))

/** Returns the id of the key that a value starts with, or undefined for bytes of another format. */
export const keyIdAtStart = (start: Uint8Array): string | undefined => {
  const length = start[1] ?? 0
  if (start[0] !== formatVersion || length === 0 || start.length < 2 + length) return undefined
  const id = Buffer.from(start).toString('ascii', 2, 2 + length)
  return keyIdForm.test(id) ? id : undefined
}

const joined = ({ keyId, wrappedKey, sealed }: BoxParts): Uint8Array => {
  const wrappedLength = Buffer.alloc(2)
  wrappedLength.writeUInt16BE(wrappedKey.length)
  return new Uint8Array(Buffer.concat([startOfSealedBy(keyId), wrappedLength, wrappedKey, sealed]))
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
