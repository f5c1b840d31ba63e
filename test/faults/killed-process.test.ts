import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { openDatabase } from '../../adapters/sql/database.ts'
import type { SqlDatabase } from '../../adapters/sql/statement.ts'
import { runCommandLine } from '../../composition/cli.ts'
import { startServiceProcess, type ServiceProcess } from '../support/service-process.ts'
import { adminLogin, adminPassword } from '../support/service.ts'
import { effectsOf, findings } from './ledger-findings.ts'
import { isAcknowledged, makeWriteLedger, type Attempt, type WriteLedger } from './write-ledger.ts'

const kills = 3
const betweenKills = 30

/** One data folder, database included, on which one process after the other is started. */
const makeHouse = () => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-killed-'))
  const settings = { MOORAGE_DATA_DIR: folder, MOORAGE_DATABASE_URL: `sqlite:${join(folder, 'moorage.sqlite')}`, MOORAGE_TLS: 'false' }
  return { folder, settings, start: () => startServiceProcess({ settings }) }
}

const firstSteps = async (service: ServiceProcess): Promise<string> => {
  const made = await service.send('POST', `/api/v1/users/${adminLogin}/tokens`, { basic: [adminLogin, adminPassword], body: { name: 'ledger', scopes: ['all'] } })
  const token = made.json.sha1 as string
  const home = await service.send('POST', '/api/v1/orgs', { token, body: { username: 'home' } })
  if (home.status !== 201) throw new Error(home.text)
  return token
}

/** The owner of a record that was begun and not finished is dead; two minutes later another may take over. */
const twoMinutesLater = (database: SqlDatabase): Promise<unknown> =>
  database.query((k) => k('idempotency_records').where('state', 'started').decrement('created_at', 3 * 60_000))

/** What is wrong with the answer to a request that was sent once more, with its key, after the crash. */
const wrongAgain = async (ledger: WriteLedger, database: SqlDatabase, attempt: Attempt): Promise<readonly string[]> => {
  const again = await ledger.repeat(attempt)
  const { rows, audited } = await effectsOf(database, attempt)
  const told = `${attempt.kind} ${attempt.name}, first ${attempt.answer?.status ?? 'nothing'}, again ${again.status} ${again.text}`
  const wrong: string[] = []
  if (rows !== 1 || audited !== 1) wrong.push(`${told}: ${rows} rows, ${audited} audit rows`)
  const isReplay = again.headers['idempotency-replayed'] === 'true'
  if (isAcknowledged(attempt)) {
    const isSame = again.status === attempt.answer?.status && again.text === attempt.answer.text
    if (!isReplay || !isSame) wrong.push(`${told}: not the same answer`)
  } else if (again.status !== 201 && again.status !== 200 && again.json?.code !== 'AnswerLost') wrong.push(told)
  return wrong
}

test('a process that is killed again and again has lost nothing that it acknowledged, and does nothing twice', async (t) => {
  const house = makeHouse()
  let service = await house.start()
  const database = await openDatabase(house.settings.MOORAGE_DATABASE_URL)
  t.teardown(async () => {
    await service.stop()
    await database.close()
    rmSync(house.folder, { recursive: true, force: true })
  })
  const token = await firstSteps(service)
  const ledger = makeWriteLedger({ target: { send: (...request) => service.send(...request) }, token, home: 'home', prefix: 'k' })
  const stream = ledger.run(6)
  t.teardown(() => stream.stop())
  for (let kill = 0; kill < kills; kill++) {
    await ledger.untilAcknowledged(betweenKills)
    service.signal('SIGKILL')
    t.is(await service.exited, 'SIGKILL')
    await service.stop()
    service = await house.start()
  }
  await ledger.untilAcknowledged(betweenKills)
  await stream.stop()
  t.true(ledger.acknowledged() >= (kills + 1) * betweenKills)
  t.true(ledger.attempts.some(({ answer }) => answer === undefined), 'some requests were cut off by the kills')
  t.deepEqual(ledger.attempts.filter(({ answer }) => answer !== undefined && answer.status >= 300).map(({ answer }) => answer?.text), [], 'nothing but 2xx was answered')
  t.deepEqual(await findings(database, ledger.attempts), [])

  await twoMinutesLater(database)
  const wrong: string[] = []
  for (const attempt of ledger.attempts.filter(({ key }) => key !== undefined)) wrong.push(...(await wrongAgain(ledger, database, attempt)))
  t.deepEqual(wrong, [])
  t.deepEqual(await findings(database, ledger.attempts.filter(isAcknowledged)), [])
  t.deepEqual(await database.query((k) => k.raw('pragma integrity_check')), [{ integrity_check: 'ok' }])
  t.deepEqual(await database.query((k) => k.raw('pragma foreign_key_check')), [])
  t.is(await runCommandLine(['audit', 'verify'], { environment: house.settings, print: () => undefined, say: () => undefined }), 0)
})
