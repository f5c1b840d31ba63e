import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import type { Keyring } from '../adapters/security/keyring.ts'
import { newKeyring, openKeyring } from '../adapters/security/keyring.ts'
import { openOrMakeKeyringFile } from '../adapters/security/keyring-file.ts'
import { openDatabase } from '../adapters/sql/database.ts'
import type { SqlDatabase } from '../adapters/sql/statement.ts'
import type { Settings } from './settings.ts'
import { StartRefused } from './start-refused.ts'

/** What every port is built on. */
export interface Foundation {
  readonly database: SqlDatabase
  readonly keyring: Keyring
  readonly instanceId: string
}

/** Makes the data folder and the key ring at the first start, and opens the database, which is not migrated here. */
export const openFoundation = async (settings: Settings): Promise<Foundation> => {
  makeDataFolder(settings.dataDir)
  const keyring = await inPlainWords(async () => openOrMakeKeyringFile(settings.keyring))
  return { keyring, database: await openStore(settings), instanceId: randomUUID() }
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
})

const makeDataFolder = (folder: string): void => {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? 'unknown'
    throw new StartRefused([`The data folder ${folder} cannot be made (${code}). Set MOORAGE_DATA_DIR to a folder that this user may write.`])
  }
}
