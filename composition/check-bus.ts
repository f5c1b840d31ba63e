import { natsServers } from '../adapters/bus/nats-address.ts'
import { makeNatsMint } from '../adapters/bus/nats-mint.ts'
import { connectBy } from '../adapters/bus/kept-connection.ts'
import { lookUpClaims } from '../adapters/bus/nats-server.ts'
import { hasStreams } from '../adapters/bus/nats-task-bus.ts'
import { makeSecretBox } from '../adapters/security/secret-box.ts'
import { readKeyringFile } from '../adapters/security/keyring-file.ts'
import { makeSqlBusIdentityStore } from '../adapters/sql/bus/identity-store.ts'
import { openDatabase } from '../adapters/sql/database.ts'
import type { SqlDatabase } from '../adapters/sql/statement.ts'
import { systemClock } from '../adapters/system/system-clock.ts'
import { systemEntropy } from '../adapters/system/system-entropy.ts'
import { readBusKeys } from '../core/bus/init-bus.ts'
import { makeKeySafe } from '../core/bus/key-safe.ts'
import { makePlatformLogin, makeSystemLogin } from '../core/bus/system-login.ts'
import type { Finding } from './doctor-checks.ts'
import { missingFile } from './doctor-checks.ts'
import type { Settings } from './settings.ts'

const finding = (state: Finding['state'], message: string): Finding => ({ subject: 'bus', state, message })
const makeKeys = 'Run `moorage bus init` and start nats-server with the configuration that it prints.'

/** Whether the message bus answers and goes by this deployment's keys. Changes nothing. */
export const checkBus = async (settings: Settings): Promise<Finding> => {
  const busUrl = settings.busUrl.reveal()
  if (busUrl === 'inproc:') return finding('ok', 'Messages stay inside this process: right for one instance.')
  let database: SqlDatabase | undefined
  try {
    const keyring = readKeyringFile(settings.keyring)
    if (keyring === undefined || missingFile(settings.databaseUrl.reveal()) !== undefined) return finding('problem', `The bus has no keys yet. ${makeKeys}`)
    database = await openDatabase(settings.databaseUrl.reveal())
    return await askServer(database, makeSecretBox(keyring.wrapper), natsServers(busUrl))
  } catch {
    return finding('problem', 'The keys of the bus cannot be read: see what is said about the database and the key ring.')
  } finally {
    await database?.close().catch(() => undefined)
  }
}

const askServer = async (database: SqlDatabase, secretBox: ReturnType<typeof makeSecretBox>, servers: readonly string[]): Promise<Finding> => {
  const identities = makeSqlBusIdentityStore(database)(database)
  const keys = await readBusKeys(identities)
  const deps = { identities, mint: makeNatsMint(systemClock), safe: makeKeySafe(secretBox, systemEntropy) }
  const login = keys && (await makeSystemLogin(deps)())
  const tasksLogin = keys && (await makePlatformLogin(deps)())
  if (keys === undefined || login === undefined || tasksLogin === undefined) return finding('problem', `The bus has no keys yet. ${makeKeys}`)
  const where = servers.join(', ')
  try {
    const connection = await connectBy({ servers }, login, false)
    try {
      if ((await lookUpClaims(connection, keys.platform.publicKey)) === undefined) return finding('problem', `The bus at ${where} does not know the account of this deployment. ${makeKeys}`)
    } finally {
      await connection.close()
    }
    const tasks = await connectBy({ servers }, tasksLogin, false)
    try {
      if (await hasStreams(tasks)) return finding('ok', `The bus at ${where} answers and knows the account of this deployment.`)
      return finding('problem', `The bus at ${where} keeps no streams, so the progress of tasks is not published there. Keep the jetstream block of the configuration that \`moorage bus init\` prints.`)
    } finally {
      await tasks.close()
    }
  } catch (error) {
    const reason = (error as Error).message
    if (/authori[sz]ation/i.test(reason)) return finding('problem', `The bus at ${where} refuses the keys of this deployment. ${makeKeys}`)
    return finding('problem', `The bus at ${where} does not answer (${reason}). Check MOORAGE_BUS_URL, and that nats-server runs. Everything but messages works without it.`)
  }
}
