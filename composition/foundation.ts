import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { Keyring } from '../adapters/security/keyring.ts'
import { newKeyring, openKeyring } from '../adapters/security/keyring.ts'
import type { TlsIdentity } from '../adapters/security/tls-identity.ts'
import { openSelfSignedIdentity, readTlsIdentity } from '../adapters/security/tls-identity.ts'
import { openDatabase } from '../adapters/sql/database.ts'
import type { SqlDatabase } from '../adapters/sql/statement.ts'
import type { SharedClock } from '../adapters/system/shared-clock.ts'
import { openSharedClock } from '../adapters/system/shared-clock.ts'
import type { LocalClock } from '../adapters/system/system-clock.ts'
import { openKeys } from './open-keys.ts'
import { openStore } from './open-store.ts'
import type { Settings } from './settings.ts'
import { StartRefused } from './start-refused.ts'

/** What every port is built on. */
export interface Foundation {
  readonly database: SqlDatabase
  /** The database's time. */
  readonly clock: SharedClock
  readonly keyring: Keyring
  readonly instanceId: string
  /** Undefined where MOORAGE_TLS is off. */
  readonly tls: TlsIdentity | undefined
}

/** Makes the data folder and the key ring at the first start, and opens the database, which is not migrated here. */
export const openFoundation = async (settings: Settings, local?: LocalClock): Promise<Foundation> => {
  const database = await openStore(settings)
  try {
    const keyring = await inPlainWords(() => openKeys(settings.keyring, database))
    const tls = await inPlainWords(() => openTls(settings))
    const clock = await inPlainWords(() => clockOf(database, local))
    return { keyring, tls, database, clock, instanceId: randomUUID() }
  } catch (error) {
    await database.close()
    throw error
  }
}

const clockOf = (database: SqlDatabase, local?: LocalClock): Promise<SharedClock> =>
  openSharedClock({ ask: () => database.now(), ...(local === undefined ? {} : { local }) })

const inPlainWords = async <A>(step: () => Promise<A>): Promise<A> => {
  try {
    return await step()
  } catch (cause) {
    throw new StartRefused([(cause as Error).message])
  }
}

/** For commands that describe this deployment without touching its data: an empty database in memory, passing keys. */
export const passingFoundation = async (): Promise<Foundation> => {
  const database = await openDatabase('sqlite::memory:')
  return { database, clock: await clockOf(database), keyring: openKeyring(newKeyring()), instanceId: randomUUID(), tls: undefined }
}

/** An operator's own certificate, else a self-signed one for every name that this machine is likely reached by. */
const openTls = async (settings: Settings): Promise<TlsIdentity | undefined> => {
  if (!settings.tls) return undefined
  const { tlsCertificate, tlsKey } = settings
  if (tlsCertificate !== undefined && tlsKey !== undefined) return readTlsIdentity(tlsCertificate, tlsKey)
  const named = settings.baseUrl === undefined ? [] : [new URL(settings.baseUrl).hostname.replace(/^\[|\]$/g, '')]
  const listening = ['0.0.0.0', '::'].includes(settings.listen.host) ? [] : [settings.listen.host]
  return openSelfSignedIdentity(join(settings.dataDir, 'tls'), [...new Set(['localhost', '127.0.0.1', '::1', ...named, ...listening])])
}
