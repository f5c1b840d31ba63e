import { randomUUID } from 'node:crypto'
import {
  closeSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { toWireJson } from '../../core/kernel/json.ts'
import type { Keyring, KeyringContent } from './keyring.ts'
import { newKeyring, openKeyring } from './keyring.ts'

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
  const content = readKeyringContent(path)
  return content === undefined ? undefined : openKeyring(content)
}

/** Returns what the file holds, after it was checked. Otherwise like `readKeyringFile`. */
export const readKeyringContent = (path: string): KeyringContent | undefined => {
  const file = openForReading(path)
  if (file === undefined) return undefined
  try {
    const stat = fstatSync(file)
    if (!stat.isFile()) throw new KeyringUnusable(`The key ring ${path} is no file. Name a file in MOORAGE_KEYRING.`)
    refuseOpenMode(path, stat.mode)
    const content: unknown = JSON.parse(readFileSync(file, 'utf8'))
    openKeyring(content)
    return content as KeyringContent
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
    writeFlushed(draft, textOf(newKeyring()), { mode: 0o600 })
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

const textOf = (content: KeyringContent): string => `${toWireJson(content, 2)}\n`

interface Ownership {
  readonly mode: number
  readonly uid?: number
  readonly gid?: number
}

/** Writes a new file. It has its owner and mode before it has its content. */
const writeFlushed = (path: string, text: string, { mode, uid, gid }: Ownership): void => {
  const file = openSync(path, 'wx', 0o600)
  try {
    const made = fstatSync(file)
    if (uid !== undefined && gid !== undefined && (made.uid !== uid || made.gid !== gid)) fchownSync(file, uid, gid)
    fchmodSync(file, mode)
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

/**
 * Replaces the file by a changed one, and returns the new content. A reader finds the old file or the new one, whole.
 * Owner, group and mode stay; a symbolic link is followed. Of several processes, only one may call this at a time.
 */
export const changeKeyringFile = (
  path: string,
  change: (content: KeyringContent) => KeyringContent,
): KeyringContent => {
  const content = readKeyringContent(path)
  if (content === undefined) throw new KeyringUnusable(`The key ring ${path} does not exist.`)
  const changed = change(content)
  if (changed === content) return content
  openKeyring(changed)
  const target = realpathSync(path)
  const { mode, uid, gid } = statSync(target)
  const draft = `${target}.${randomUUID()}`
  try {
    writeFlushed(draft, textOf(changed), { mode: mode & 0o777, uid, gid })
    renameSync(draft, target)
    flushFolder(dirname(target))
  } catch (cause) {
    throw new KeyringUnusable(
      `The key ring ${path} cannot be replaced (${(cause as NodeJS.ErrnoException).code ?? 'unknown'}). If it is ` +
        'mounted from a secret, run the command on a copy (MOORAGE_KEYRING), then update the secret from the copy.',
    )
  } finally {
    rmSync(draft, { force: true })
  }
  return changed
}
