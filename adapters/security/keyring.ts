import { createCipheriv, createDecipheriv, createHash, randomBytes, randomUUID } from 'node:crypto'
import {
  closeSync,
  fstatSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import type { SealedPlace, Secret, SecretBox } from '../../core/kernel/secret.ts'
import { secret } from '../../core/kernel/secret.ts'
import { toWireJson } from '../../core/kernel/json.ts'

const algorithm = 'aes-256-gcm'
const ivLength = 12
const tagLength = 16
/** Bytes that encryption adds. */
const aeadOverhead = ivLength + tagLength

/** AES-256-GCM: random 12-byte iv, ciphertext, 16-byte tag. */
const encrypt = (key: Uint8Array, plain: Uint8Array, associated: Uint8Array): Uint8Array => {
  const iv = randomBytes(ivLength)
  const cipher = createCipheriv(algorithm, key, iv, { authTagLength: tagLength })
  cipher.setAAD(associated)
  return Buffer.concat([iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
}

/** Throws if any byte was changed. */
const decrypt = (key: Uint8Array, box: Uint8Array, associated: Uint8Array): Uint8Array => {
  if (box.length < aeadOverhead) throw new Error('An encrypted value is too short.')
  const decipher = createDecipheriv(algorithm, key, box.subarray(0, ivLength), { authTagLength: tagLength })
  decipher.setAAD(associated)
  decipher.setAuthTag(box.subarray(box.length - tagLength))
  return Buffer.concat([decipher.update(box.subarray(ivLength, box.length - tagLength)), decipher.final()])
}

/**
 * Encrypts data keys under a key-encryption key, which may be stored elsewhere (a file, a vault, a cloud's key
 * service).
 */
interface KeyWrapper {
  /** ASCII, at most 64 characters. */
  readonly currentKeyId: string
  /** Wraps under the current key. */
  wrap(dataKey: Uint8Array): Promise<Uint8Array>
  /** Throws if the key is unknown or the bytes were changed. */
  unwrap(keyId: string, wrapped: Uint8Array): Promise<Uint8Array>
}

/** The service's own keys, of 32 bytes each. */
export interface Keyring {
  readonly wrapper: KeyWrapper
  readonly keyIds: readonly string[]
  readonly auditKey: Secret<Uint8Array>
  readonly csrfKey: Secret<Uint8Array>
}

/** The file's content. A key-encryption key is never removed while a sealed value names it. */
export interface KeyringContent {
  readonly version: 1
  readonly currentKeyId: string
  readonly keys: readonly { readonly id: string; readonly createdAt: string; readonly key: string }[]
  readonly auditKey: string
  readonly csrfKey: string
}

const keyLength = 32

const newKey = (): { readonly id: string; readonly createdAt: string; readonly key: string } => {
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

/** Returns the key ring with an additional key-encryption key, which is used to seal new values. @internal */
export const withNewKey = (content: KeyringContent): KeyringContent => {
  const added = newKey()
  return { ...content, currentKeyId: added.id, keys: [...content.keys, added] }
}

/** Checks the content and returns the keys. Throws an error that states the problem and contains no key. */
export const openKeyring = (content: unknown): Keyring => {
  const { version, currentKeyId, keys, auditKey, csrfKey } = (content ?? {}) as Partial<KeyringContent>
  if (version !== 1) throw new Error('its version is not 1')
  if (!Array.isArray(keys) || keys.length === 0) throw new Error('it holds no keys')
  const byId = new Map<string, Uint8Array>()
  for (const entry of keys as readonly Partial<KeyringContent['keys'][number]>[]) {
    const id = typeof entry.id === 'string' && /^[\w-]{1,64}$/.test(entry.id) ? entry.id : undefined
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
    wrap: async (dataKey) => encrypt(keyOf(currentKeyId), dataKey, associated(currentKeyId)),
    unwrap: async (keyId, wrapped) => decrypt(keyOf(keyId), wrapped, associated(keyId)),
  }
}

/** The key ring file cannot be used. The message states what to do and contains no key. @internal */
export class KeyringUnusable extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'KeyringUnusable'
  }
}

/**
 * Reads the key ring, or creates it if it does not exist. Of two processes that start at once, both get the one created
 * first.
 */
export const openOrMakeKeyringFile = (path: string): Keyring =>
  readKeyringFile(path) ?? (makeFile(path), mustRead(path))

/**
 * Returns undefined if the file does not exist. Throws KeyringUnusable if other users can read it or it is not a key
 * ring.
 */
export const readKeyringFile = (path: string): Keyring | undefined => {
  const file = openForReading(path)
  if (file === undefined) return undefined
  try {
    const stat = fstatSync(file)
    if (!stat.isFile()) throw new KeyringUnusable(`The key ring ${path} is no file. Name a file in MOORAGE_KEYRING.`)
    refuseOpenMode(path, stat.mode)
    return openKeyring(JSON.parse(readFileSync(file, 'utf8')))
  } catch (cause) {
    if (cause instanceof KeyringUnusable) throw cause
    // A JSON error quotes the text around it, which may be a key.
    const reason = cause instanceof SyntaxError ? 'it is not JSON' : (cause as Error).message
    throw new KeyringUnusable(`The key ring ${path} cannot be used: ${reason}. Restore it from a backup.`)
  } finally {
    closeSync(file)
  }
}

const openForReading = (path: string): number | undefined => {
  try {
    return openSync(path, 'r')
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code
    if (code === 'ENOENT') return undefined
    throw new KeyringUnusable(
      `The key ring ${path} cannot be read (${code ?? 'unknown'}). It must belong to the user that runs the service.`,
    )
  }
}

/** The owner's group may read the file: this is how secrets are mounted into containers that do not run as root. */
const refuseOpenMode = (path: string, mode: number): void => {
  if ((mode & 0o027) === 0) return
  const shown = (mode & 0o777).toString(8).padStart(4, '0')
  throw new KeyringUnusable(
    `The key ring ${path} has mode ${shown}, so other users can reach it. Run: chmod 600 ${path}`,
  )
}

const mustRead = (path: string): Keyring => {
  const keyring = readKeyringFile(path)
  if (keyring === undefined) throw new KeyringUnusable(`The key ring ${path} disappeared while it was made.`)
  return keyring
}

/**
 * Writes and flushes the file under another name and links it: no reader sees a partial file, and an existing file is
 * not replaced.
 */
const makeFile = (path: string): void => {
  const folder = dirname(path)
  const draft = `${path}.${randomUUID()}`
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    writeFlushed(draft, `${toWireJson(newKeyring(), 2)}\n`)
    linkUnlessPresent(draft, path)
    flushFolder(folder)
  } catch (cause) {
    throw new KeyringUnusable(
      `The key ring ${path} cannot be made (${(cause as NodeJS.ErrnoException).code ?? 'unknown'}).`,
    )
  } finally {
    rmSync(draft, { force: true })
  }
}

const writeFlushed = (path: string, text: string): void => {
  const file = openSync(path, 'wx', 0o600)
  try {
    writeSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

const linkUnlessPresent = (draft: string, path: string): void => {
  try {
    linkSync(draft, path)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause
  }
}

const flushFolder = (folder: string): void => {
  const handle = openSync(folder, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
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
