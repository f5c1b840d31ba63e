import { token } from './token.ts'

const inspect = Symbol.for('nodejs.util.inspect.custom')

/**
 * The only carrier of a secret inside the core. Printing, inspecting or serialising it shows `[secret]`. `reveal` is
 * called only where the value is needed.
 */
export class Secret<A = string> {
  readonly #value: A
  constructor(value: A) {
    this.#value = value
  }
  reveal(): A {
    return this.#value
  }
  toString(): string {
    return '[secret]'
  }
  toJSON(): string {
    return '[secret]'
  }
  [inspect](): string {
    return '[secret]'
  }
}

export const secret = <A>(value: A): Secret<A> => new Secret(value)

/** Returns undefined for a value that is missing. */
export const optionalSecret = <A>(value: A | undefined): Secret<A> | undefined => (value === undefined ? undefined : new Secret(value))

/** The context that a sealed value is bound to, so that it cannot be moved to another row. */
export interface SealedPlace {
  readonly table: string
  readonly column: string
  readonly tenantId: number
  /** A stable identifier of the row that exists before it is inserted (a random reference, not the row number). */
  readonly rowRef: string
}

/**
 * Authenticated encryption of secrets at rest. `open` throws if the box was tampered with or moved, or if its key is
 * missing.
 */
export interface SecretBox {
  seal(plain: Secret<string>, place: SealedPlace): Promise<Uint8Array>
  open(box: Uint8Array, place: SealedPlace): Promise<Secret<string>>
  /** Re-encrypts the data key under the current key-encryption key. The value itself is not changed. */
  rewrap(box: Uint8Array): Promise<Uint8Array>
  /** Returns the id of the key-encryption key that wraps a box. */
  keyIdOf(box: Uint8Array): string
}
export const SecretBoxToken = token<SecretBox>('kernel.SecretBox')

/** A cryptographically strong source of randomness. */
export interface Entropy {
  /** Returns `length` random bytes. */
  bytes(length: number): Uint8Array
  /** Returns a new version 4 UUID. */
  uuid(): string
}
export const EntropyToken = token<Entropy>('kernel.Entropy')

/** Encodes bytes as lower-case hexadecimal, two digits per byte. */
export const hex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
