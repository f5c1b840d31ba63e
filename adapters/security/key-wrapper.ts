/** Encrypts data keys under a key-encryption key that may live elsewhere (a file, a vault, a cloud's key service). */
export interface KeyWrapper {
  /** ASCII, at most 64 characters. */
  readonly currentKeyId: string
  /** Wraps under the current key. */
  wrap(dataKey: Uint8Array): Promise<Uint8Array>
  /** Throws when the key is unknown or the bytes were changed. */
  unwrap(keyId: string, wrapped: Uint8Array): Promise<Uint8Array>
}
