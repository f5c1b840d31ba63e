import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

const algorithm = 'aes-256-gcm'
const ivLength = 12
const tagLength = 16
/** Bytes that encryption adds. */
export const aeadOverhead = ivLength + tagLength

/** AES-256-GCM: random 12-byte iv, ciphertext, 16-byte tag. */
export const encrypt = (key: Uint8Array, plain: Uint8Array, associated: Uint8Array): Uint8Array => {
  const iv = randomBytes(ivLength)
  const cipher = createCipheriv(algorithm, key, iv, { authTagLength: tagLength })
  cipher.setAAD(associated)
  return Buffer.concat([iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
}

/** Throws if any byte was changed. */
export const decrypt = (key: Uint8Array, box: Uint8Array, associated: Uint8Array): Uint8Array => {
  if (box.length < aeadOverhead) throw new Error('An encrypted value is too short.')
  const decipher = createDecipheriv(algorithm, key, box.subarray(0, ivLength), { authTagLength: tagLength })
  decipher.setAAD(associated)
  decipher.setAuthTag(box.subarray(box.length - tagLength))
  return Buffer.concat([decipher.update(box.subarray(ivLength, box.length - tagLength)), decipher.final()])
}

/** Encrypts data keys under a key-encryption key, which may be stored elsewhere (a file, a vault, a cloud's key service). */
export interface KeyWrapper {
  /** ASCII, at most 64 characters. */
  readonly currentKeyId: string
  /** Wraps under the current key. */
  wrap(dataKey: Uint8Array): Promise<Uint8Array>
  /** Throws if the key is unknown or the bytes were changed. */
  unwrap(keyId: string, wrapped: Uint8Array): Promise<Uint8Array>
}
