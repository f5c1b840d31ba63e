import { randomUUID } from 'node:crypto'
import { closeSync, fstatSync, fsyncSync, linkSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Keyring } from './keyring.ts'
import { newKeyring, openKeyring } from './keyring.ts'

/** The key ring file cannot be used; the message says what to do and holds no key. */
export class KeyringUnusable extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'KeyringUnusable'
  }
}

/** Reads the key ring; makes it when there is none. When two processes start at once, both get the one that came first. */
export const openOrMakeKeyringFile = (path: string): Keyring => readKeyringFile(path) ?? (makeFile(path), mustRead(path))

/** Undefined when there is no such file. Throws KeyringUnusable when others could read it or it is not a key ring. */
export const readKeyringFile = (path: string): Keyring | undefined => {
  const file = openForReading(path)
  if (file === undefined) return undefined
  try {
    refuseOpenMode(path, fstatSync(file).mode)
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
    throw new KeyringUnusable(`The key ring ${path} cannot be read (${code ?? 'unknown'}). It must belong to the user that runs the service.`)
  }
}

/** The owner's group may read, since that is how secrets are mounted into containers that do not run as root. */
const refuseOpenMode = (path: string, mode: number): void => {
  if ((mode & 0o027) === 0) return
  const shown = (mode & 0o777).toString(8).padStart(4, '0')
  throw new KeyringUnusable(`The key ring ${path} has mode ${shown}, so other users can reach it. Run: chmod 600 ${path}`)
}

const mustRead = (path: string): Keyring => {
  const keyring = readKeyringFile(path)
  if (keyring === undefined) throw new KeyringUnusable(`The key ring ${path} disappeared while it was made.`)
  return keyring
}

/** Written whole and flushed under another name, then linked: no reader sees half a file, and an existing one stays. */
const makeFile = (path: string): void => {
  const folder = dirname(path)
  const draft = `${path}.${randomUUID()}`
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    writeFlushed(draft, `${JSON.stringify(newKeyring(), null, 2)}\n`)
    linkUnlessPresent(draft, path)
    flushFolder(folder)
  } catch (cause) {
    throw new KeyringUnusable(`The key ring ${path} cannot be made (${(cause as NodeJS.ErrnoException).code ?? 'unknown'}).`)
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
