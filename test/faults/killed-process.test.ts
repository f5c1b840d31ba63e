// process: own - breaks what a service needs
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { runCommandLine } from '../../composition/moorage.ts'
import { needing } from '../support/components/needing.ts'
import { startServiceProcess, type ServiceProcess } from '../support/service-process.ts'
import { adminLogin, adminPassword } from '../support/service.ts'
import { migratedMysqlUrl, openPatiently } from '../support/databases.ts'
import { repeats } from '../support/thorough.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import { effectsOf, findings, idOf } from './ledger-findings.ts'
import { isAcknowledged, makeWriteLedger, type Attempt, type WriteLedger } from './write-ledger.ts'

const withMariaDb = needing('mariadb')

/** One database, on which one process after the other is started, with one data folder. */
const makeHouse = (databaseUrl: (folder: string) => string) => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-killed-'))
  const settings = { MOORAGE_DATA_DIR: folder, MOORAGE_DATABASE_URL: databaseUrl(folder), MOORAGE_TLS: 'false' }
  return { folder, settings, start: () => startServiceProcess({ settings }) }
}

const firstSteps = async (service: ServiceProcess): Promise<string> => {
  const made = await service.send('POST', `/api/v1/users/${adminLogin}/tokens`, {
    basic: [adminLogin, adminPassword],
    body: { name: 'ledger', scopes: ['all'] },
  })
  const token = made.json.sha1 as string
  const home = await service.send('POST', '/api/v1/orgs', { token, body: { username: 'home' } })
  if (home.status !== 201) throw new Error(home.text)
  return token
}

/** What is wrong with the answer to a request that was sent once more, with its key, after the crash. */
const wrongAgain = async (ledger: WriteLedger, database: SqlDatabase, attempt: Attempt): Promise<readonly string[]> => {
  const again = await ledger.settle(attempt)
  const { rows, audited } = await effectsOf(database, attempt)
  const told = `${attempt.kind} ${attempt.name}, first ${attempt.answer?.status ?? 'nothing'}, again ${again.status} ${again.text}`
  if (again.status !== 201 && again.status !== 200) return [told]
  if (rows !== 1 || audited !== 1) return [`${told}: ${rows} rows, ${audited} audit rows`]
  const wrong: string[] = []
  if (again.json?.id !== (await idOf(database, attempt))) wrong.push(`${told}: another id than the row's`)
  const isReplay = again.headers['idempotency-replayed'] === 'true'
  if (
    isAcknowledged(attempt) &&
    (!isReplay || again.status !== attempt.answer?.status || again.text !== attempt.answer.text)
  )
    wrong.push(`${told}: not the same answer`)
  const third = await ledger.repeat(attempt)
  if (third.status !== again.status || third.text !== again.text) wrong.push(`${told}, then ${third.text}`)
  return wrong
}

/** So many at a time: a client that opens hundreds of connections at once is a test of another kind. */
const eachOf = async <A>(items: readonly A[], atOnce: number, work: (item: A) => Promise<void>): Promise<void> => {
  const rest = items.values()
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const item of rest) await work(item)
    }),
  )
}

interface Siege {
  readonly kills: number
  readonly writers: number
  /** Changes that are acknowledged between two kills. */
  readonly between: number
  /** Resolves when the kill comes; any time after that many changes unless told. */
  readonly moment?: () => Promise<void>
  readonly keyed?: 'half' | 'all'
}

/** Kills under load, then sends everything under a key again. Answers how many lost answers were made good. */
const besiege = async (
  t: ExecutionContext,
  house: ReturnType<typeof makeHouse>,
  { kills, writers, between, moment = () => Promise.resolve(), keyed: keys = 'half' }: Siege,
): Promise<number> => {
  // A request waits for a process that is being started: what is cut off are the requests that a process had.
  let service = house.start()
  const database = await openPatiently(house.settings.MOORAGE_DATABASE_URL)
  t.teardown(async () => {
    await (await service).stop()
    await database.close()
    rmSync(house.folder, { recursive: true, force: true })
  })
  const token = await firstSteps(await service)
  const ledger = makeWriteLedger({
    target: { send: async (...request) => (await service).send(...request) },
    token,
    home: 'home',
    prefix: 'k',
    keyed: keys,
  })
  const stream = ledger.run(writers)
  t.teardown(() => stream.stop())
  const restarted = async (killed: ServiceProcess): Promise<ServiceProcess> => {
    t.is(await killed.exited, 'SIGKILL')
    await killed.stop()
    return house.start()
  }
  for (let kill = 0; kill < kills; kill++) {
    await ledger.untilAcknowledged(between)
    const killed = await service
    await moment()
    killed.signal('SIGKILL')
    service = restarted(killed)
    await service
  }
  await ledger.untilAcknowledged(between)
  await stream.stop()
  t.true(ledger.acknowledged() >= (kills + 1) * between)
  const lost = ledger.attempts.filter(({ answer }) => answer === undefined)
  t.true(lost.length > 0, 'some requests were cut off by the kills')
  const isHonest = (attempt: Attempt): boolean =>
    attempt.answer === undefined || isAcknowledged(attempt) || attempt.answer.status === 503
  t.deepEqual(
    ledger.attempts.filter((attempt) => !isHonest(attempt)).map(({ answer }) => answer?.text),
    [],
    'nothing but 2xx was answered, or 503 to more than the database could take',
  )
  t.deepEqual(await findings(database, ledger.attempts), [])

  const applied: Attempt[] = []
  for (const attempt of lost)
    if (attempt.key !== undefined && (await effectsOf(database, attempt)).rows === 1) applied.push(attempt)
  const keyed = ledger.attempts.filter(({ key }) => key !== undefined)
  const wrong: string[] = []
  await eachOf(keyed, 10, async (attempt) => void wrong.push(...(await wrongAgain(ledger, database, attempt))))
  t.deepEqual(wrong, [])
  t.deepEqual(await findings(database, ledger.attempts.filter(isAcknowledged)), [])
  t.is(
    await runCommandLine(['audit', 'verify'], {
      environment: house.settings,
      print: () => undefined,
      say: () => undefined,
    }),
    0,
  )
  if (database.dialect === 'sqlite') {
    t.deepEqual(await database.query((k) => k.raw('pragma integrity_check')), [{ integrity_check: 'ok' }])
    t.deepEqual(await database.query((k) => k.raw('pragma foreign_key_check')), [])
  }
  return applied.length
}

test('a repeatedly killed process keeps acknowledged data and repeats nothing', async (t) => {
  await besiege(
    t,
    makeHouse((folder) => `sqlite:${join(folder, 'moorage.sqlite')}`),
    { kills: repeats(2, 6), writers: 6, between: 30 },
  )
})

withMariaDb(
  'under fifty writers every change whose answer was lost to a kill is answered to its retry as it was made',
  async (t) => {
    const url = new URL(await migratedMysqlUrl())
    const link = await startFaultProxy({ host: url.hostname, port: Number(url.port) })
    t.teardown(() => link.close())
    url.port = String(link.port)
    // The server has committed and its answer is on the way: the worst moment.
    const moment = () => link.cutAfterClientBytesMatching('commit')
    const madeGood = await besiege(
      t,
      makeHouse(() => url.href),
      { kills: repeats(2, 10), writers: 50, between: 40, moment, keyed: 'all' },
    )
    t.log(`${madeGood} changes had been made without an answer`)
    t.true(madeGood > 0)
  },
)
