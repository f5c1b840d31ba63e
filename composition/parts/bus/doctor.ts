import type { Finding } from '../../part/finding.ts'
import { missingFile } from '../../runtime/cli/doctor/doctor-checks.ts'
import { connectBy, natsServers } from '../../../adapters/bus/nats-connection.ts'
import { makeNatsMint } from '../../../adapters/bus/nats-mint.ts'
import { lookUpClaims } from '../../../adapters/bus/nats-server.ts'
import { hasStreams, taskBusRights } from '../../../adapters/bus/nats-task-bus.ts'
import { readKeyringFile } from '../../../adapters/security/keyring-file.ts'
import { makeSecretBox } from '../../../adapters/security/keyring.ts'
import { makeSqlBusIdentityStore } from '../../../adapters/sql/bus/bus-store.ts'
import { openDatabase } from '../../../adapters/sql/engine/database.ts'
import type { SqlDatabase } from '../../../adapters/sql/kit/statement.ts'
import { systemClock } from '../../../adapters/system/system-clock.ts'
import { systemEntropy } from '../../../adapters/system/system-entropy.ts'
import { readBusKeys, makeSealedKeys, makePlatformLogin, makeSystemLogin } from '../../../core/bus/keys.ts'
import type { RuntimeSettings } from '../../part/runtime-settings.ts'
import type { Secret } from '../../../core/kernel/secret.ts'

const busFinding = (state: Finding['state'], message: string): Finding => ({ subject: 'bus', state, message })
const makeKeys = 'Run `moorage bus init` and start nats-server with the configuration that it prints.'

/** Checks that the message bus answers and accepts the keys of this deployment. Changes nothing. */
export const checkBus = async (
  settings: Pick<RuntimeSettings, 'databaseUrl' | 'keyring'> & { readonly busUrl: Secret },
): Promise<Finding> => {
  const busUrl = settings.busUrl.reveal()
  if (busUrl === 'inproc:') return busFinding('ok', 'Messages stay inside this process: right for one instance.')
  let database: SqlDatabase | undefined
  try {
    const keyring = readKeyringFile(settings.keyring)
    if (keyring === undefined || missingFile(settings.databaseUrl.reveal()) !== undefined)
      return busFinding('problem', `The bus has no keys yet. ${makeKeys}`)
    database = await openDatabase(settings.databaseUrl.reveal())
    return await askServer(database, makeSecretBox(keyring.wrapper), natsServers(busUrl))
  } catch {
    return busFinding(
      'problem',
      'The keys of the bus cannot be read: see what is said about the database and the key ring.',
    )
  } finally {
    await database?.close().catch(() => undefined)
  }
}

const askServer = async (
  database: SqlDatabase,
  secretBox: ReturnType<typeof makeSecretBox>,
  servers: readonly string[],
): Promise<Finding> => {
  const identities = makeSqlBusIdentityStore(database)(database)
  const keys = await readBusKeys(identities)
  const deps = { identities, mint: makeNatsMint(systemClock), safe: makeSealedKeys(secretBox, systemEntropy) }
  const login = keys && (await makeSystemLogin(deps)())
  const tasksLogin = keys && (await makePlatformLogin(deps, taskBusRights)())
  if (keys === undefined || login === undefined || tasksLogin === undefined)
    return busFinding('problem', `The bus has no keys yet. ${makeKeys}`)
  const where = servers.join(', ')
  try {
    const connection = await connectBy({ servers }, login, false)
    try {
      if ((await lookUpClaims(connection, keys.platform.publicKey)) === undefined)
        return busFinding('problem', `The bus at ${where} does not know the account of this deployment. ${makeKeys}`)
    } finally {
      await connection.close()
    }
    const tasks = await connectBy({ servers }, tasksLogin, false)
    try {
      if (await hasStreams(tasks))
        return busFinding('ok', `The bus at ${where} answers and knows the account of this deployment.`)
      return busFinding(
        'problem',
        `The bus at ${where} keeps no streams, so the progress of tasks is not published there. Keep the ` +
          `jetstream block of the configuration that \`moorage bus init\` prints.`,
      )
    } finally {
      await tasks.close()
    }
  } catch (error) {
    const reason = (error as Error).message
    if (/authori[sz]ation/i.test(reason))
      return busFinding('problem', `The bus at ${where} refuses the keys of this deployment. ${makeKeys}`)
    return busFinding(
      'problem',
      `The bus at ${where} does not answer (${reason}). Check MOORAGE_BUS_URL, and that nats-server runs. ` +
        'Everything but messages works without it.',
    )
  }
}
