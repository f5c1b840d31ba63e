import { randomBytes, scrypt } from 'node:crypto'
import { promisify } from 'node:util'
import { fromWireJson, toWireJson } from '../../core/kernel/json.ts'
import type { Secret } from '../../core/kernel/secret.ts'
import type { KeyringContent } from './keyring.ts'
import { decrypt, encrypt, openKeyring } from './keyring.ts'

/** The least length of a passphrase, in characters. */
export const leastPassphrase = 12

/** A copy of a key ring that a passphrase opens. */
interface SealedCopy {
  readonly format: 'moorage key ring, sealed'
  readonly version: 1
  readonly kdf: 'scrypt'
  /** Costs of scrypt. With these it takes 128 MiB and about half a second. */
  readonly n: number
  readonly r: number
  readonly p: number
  readonly salt: string
  /** AES-256-GCM over the key ring. What is above is authenticated with it. */
  readonly sealed: string
}

const costs = { n: 2 ** 17, r: 8, p: 1 } as const
const keyLength = 32
const derive = promisify<string, Buffer, number, { N: number; r: number; p: number; maxmem: number }, Buffer>(scrypt)

type Header = Omit<SealedCopy, 'sealed'>

const keyOf = (passphrase: Secret, { n, r, p, salt }: Header): Promise<Buffer> =>
  derive(passphrase.reveal().normalize('NFC'), Buffer.from(salt, 'base64'), keyLength, {
    N: n,
    r,
    p,
    maxmem: 256 * n * r,
  })

const headerBytes = ({ format, version, kdf, n, r, p, salt }: Header): Buffer =>
  Buffer.from(toWireJson([format, version, kdf, n, r, p, salt]))

/** Returns the text of a file with the key ring, sealed with a key that scrypt derives from the passphrase. */
export const sealKeyring = async (content: KeyringContent, passphrase: Secret): Promise<string> => {
  const salt = randomBytes(16).toString('base64')
  const header: Header = { format: 'moorage key ring, sealed', version: 1, kdf: 'scrypt', ...costs, salt }
  const key = await keyOf(passphrase, header)
  const sealed = Buffer.from(encrypt(key, Buffer.from(toWireJson(content)), headerBytes(header))).toString('base64')
  return `${toWireJson({ ...header, sealed } satisfies SealedCopy, 2)}\n`
}

/** Returns the key ring of a file that `sealKeyring` made. Throws an error with one sentence that contains no key. */
export const openSealedKeyring = async (text: string, passphrase: Secret): Promise<KeyringContent> => {
  const copy = parsed(text)
  // Other costs are not read from the file: it may come from anyone, and would decide how much memory is taken.
  if (copy?.version !== 1 || copy.n !== costs.n || copy.r !== costs.r || copy.p !== costs.p)
    throw new Error('it is not a sealed key ring of this version')
  const { sealed, ...header } = copy
  const key = await keyOf(passphrase, header)
  let plain: string
  try {
    plain = Buffer.from(decrypt(key, Buffer.from(sealed, 'base64'), headerBytes(header))).toString('utf8')
  } catch {
    throw new Error('the passphrase is not the one that it was sealed with, or the file was changed')
  }
  const content = fromWireJson(plain)
  openKeyring(content)
  return content as KeyringContent
}

const parsed = (text: string): SealedCopy | undefined => {
  try {
    const value = fromWireJson(text) as Partial<SealedCopy> | null
    return typeof value?.salt === 'string' && typeof value.sealed === 'string' && value.format?.startsWith('moorage')
      ? (value as SealedCopy)
      : undefined
  } catch {
    return undefined
  }
}
