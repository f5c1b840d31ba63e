import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Keyring } from '../adapters/security/keyring.ts'
import { newKeyring, openKeyring } from '../adapters/security/keyring.ts'
import { openOrMakeKeyringFile } from '../adapters/security/keyring-file.ts'
import type { TlsIdentity } from '../adapters/security/tls-identity.ts'
import { openSelfSignedIdentity, readTlsIdentity } from '../adapters/security/tls-identity.ts'
import { openDatabase } from '../adapters/sql/database.ts'
import type { SqlDatabase } from '../adapters/sql/statement.ts'
import type { Settings } from './settings.ts'
import { StartRefused } from './start-refused.ts'

/** What every port is built on. */
export interface Foundation {
  readonly database: SqlDatabase
  readonly keyring: Keyring
  readonly instanceId: string
  /** Undefined where MOORAGE_TLS is off. */
  readonly tls: TlsIdentity | undefined
}

/** Makes the data folder and the key ring at the first start, and opens the database, which is not migrated here. */
export const openFoundation = async (settings: Settings): Promise<Foundation> => {
  makeDataFolder(settings.dataDir)
  const keyring = await inPlainWords(async () => openOrMakeKeyringFile(settings.keyring))
  const tls = await inPlainWords(() => openTls(settings))
  return { keyring, tls, database: await openStore(settings), instanceId: randomUUID() }
}

/** Opens the database alone. A server that cannot be reached shows at the first statement only. */
export const openStore = async (settings: Settings): Promise<SqlDatabase> => {
  makeDataFolder(settings.dataDir)
  return inPlainWords(() => openDatabase(settings.databaseUrl.reveal()))
}

const inPlainWords = async <A>(step: () => Promise<A>): Promise<A> => {
  try {
    return await step()
  } catch (cause) {
    throw new StartRefused([(cause as Error).message])
  }
}

/** For commands that describe this deployment without touching its data: an empty database in memory, passing keys. */
export const passingFoundation = async (): Promise<Foundation> => ({
  database: await openDatabase('sqlite::memory:'),
  keyring: openKeyring(newKeyring()),
  instanceId: randomUUID(),
  tls: undefined,
})

/** An operator's own certificate, else a self-signed one for every name that this machine is likely reached by. */
const openTls = async (settings: Settings): Promise<TlsIdentity | undefined> => {
  if (!settings.tls) return undefined
  const { tlsCertificate, tlsKey } = settings
  if (tlsCertificate !== undefined && tlsKey !== undefined) return readTlsIdentity(tlsCertificate, tlsKey)
  const named = settings.baseUrl === undefined ? [] : [new URL(settings.baseUrl).hostname.replace(/^\[|\]$/g, '')]
  const listening = ['0.0.0.0', '::'].includes(settings.listen.host) ? [] : [settings.listen.host]
  return openSelfSignedIdentity(join(settings.dataDir, 'tls'), [...new Set(['localhost', '127.0.0.1', '::1', ...named, ...listening])])
}

const makeDataFolder = (folder: string): void => {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? 'unknown'
    throw new StartRefused([`The data folder ${folder} cannot be made (${code}). Set MOORAGE_DATA_DIR to a folder that this user may write.`])
  }
}
