// process: own - breaks what a service needs
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import test, { type ExecutionContext, type TestFn } from 'ava'
import { runCommandLine } from '../../composition/moorage.ts'
import { childrenOf, isRunning } from '../support/child-processes.ts'
import { needing } from '../support/components/needing.ts'
import { migratedMysqlUrl, openPatiently } from '../support/databases.ts'
import { startServiceProcess } from '../support/service-process.ts'
import { adminLogin, adminPassword } from '../support/service.ts'
import { until } from '../support/until.ts'
import { effectsOf, findings } from './ledger-findings.ts'
import { isAcknowledged, makeWriteLedger } from './write-ledger.ts'

const kills = 3

/** Kills a worker of two again and again under writers, who ask both. */
const besiege = async (t: ExecutionContext, databaseUrl: (folder: string) => Promise<string>): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-killed-worker-'))
  const settings = {
    MOORAGE_DATA_DIR: folder,
    MOORAGE_DATABASE_URL: await databaseUrl(folder),
    MOORAGE_TLS: 'false',
    MOORAGE_WORKERS: '2',
  }
  const service = await startServiceProcess({ settings })
  const database = await openPatiently(settings.MOORAGE_DATABASE_URL)
  t.teardown(async () => {
    await service.stop()
    await database.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const made = await service.send('POST', `/api/v1/users/${adminLogin}/tokens`, {
    basic: [adminLogin, adminPassword],
    body: { name: 'ledger', scopes: ['all'] },
  })
  const token = made.json.sha1 as string
  t.is((await service.send('POST', '/api/v1/orgs', { token, body: { username: 'home' } })).status, 201)
  const ledger = makeWriteLedger({ target: service, token, home: 'home', prefix: 'w', keyed: 'all' })
  const stream = ledger.run(8)
  t.teardown(() => stream.stop())
  const untilReady = () =>
    until('both serve', async () =>
      (await (await fetch(`${service.opsUrl}/readyz`)).text()) === 'ok\n' ? true : undefined,
    )
  const probes = new Set<string>()
  let isProbing = true
  const probing = (async () => {
    while (isProbing) {
      const answers = await Promise.all(['readyz', 'livez'].map((path) => fetch(`${service.opsUrl}/${path}`)))
      for (const answer of answers) probes.add(`${answer.status} ${await answer.text()}`)
    }
  })()
  for (let kill = 0; kill < kills; kill++) {
    await ledger.untilAcknowledged(30)
    const victim = childrenOf(service.pid).toSorted()[kill % 2] ?? 0
    process.kill(victim, 'SIGKILL')
    await until('it is gone', () => (isRunning(victim) ? undefined : true))
    // The other serves while its sibling is started.
    await ledger.untilAcknowledged(10)
    // An answer of the probe is kept for a second.
    await delay(1_100)
    await untilReady()
  }
  isProbing = false
  await probing
  t.deepEqual([...probes].sort(), ['200 degraded: workers\n', '200 ok\n'])
  await stream.stop()
  t.deepEqual(await findings(database, ledger.attempts), [], 'nothing that was acknowledged is lost')
  const others = ledger.attempts.filter(
    ({ answer }) => answer !== undefined && ![200, 201, 503].includes(answer.status),
  )
  t.deepEqual(others, [])
  for (const attempt of ledger.attempts.filter((each) => !isAcknowledged(each))) {
    t.true([200, 201].includes((await ledger.settle(attempt)).status), attempt.name)
    t.like(await effectsOf(database, attempt), { rows: 1, audited: 1 }, attempt.name)
  }
  const quiet = { environment: settings, print: () => undefined, say: () => undefined }
  t.is(await runCommandLine(['audit', 'verify'], quiet), 0)
  if (database.dialect === 'sqlite')
    t.deepEqual(await database.query((k) => k.raw('pragma integrity_check')), [{ integrity_check: 'ok' }])
  service.signal('SIGTERM')
  t.is(await service.exited, 0)
}

const declareFor = (name: string, given: TestFn, databaseUrl: (folder: string) => Promise<string>): void =>
  given(`a worker that is killed under writers, on ${name}: nothing acknowledged is lost, the other serves`, (t) =>
    besiege(t, databaseUrl),
  )

declareFor('SQLite', test, async (folder) => `sqlite:${join(folder, 'moorage.sqlite')}`)
declareFor('MariaDB', needing('mariadb'), () => migratedMysqlUrl())
