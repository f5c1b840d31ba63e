import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { Keyring } from '../adapters/security/keyring.ts'
import { newKeyring, openKeyring } from '../adapters/security/keyring.ts'
import type { TlsIdentity } from '../adapters/security/tls-identity.ts'
import { openSelfSignedIdentity, readTlsIdentity } from '../adapters/security/tls-identity.ts'
import { openDatabase } from '../adapters/sql/database.ts'
import type { SqlDatabase } from '../adapters/sql/statement.ts'
import { openKeys } from './open-keys.ts'
import { openStore } from './open-store.ts'
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
  const database = await openStore(settings)
  try {
    const keyring = await inPlainWords(() => openKeys(settings.keyring, database))
    const tls = await inPlainWords(() => openTls(settings))
    return { keyring, tls, database, instanceId: randomUUID() }
  } catch (error) {
    await database.close()
    throw error
  }
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
