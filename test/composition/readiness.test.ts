import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import 'reflect-metadata'
import { daysLeft, expiryTold, nearsExpiry, watchExpiry } from '../../adapters/security/tls-identity.ts'
import { openDatabase, watchChanges } from '../../adapters/sql/engine/database.ts'
import { toThrown } from '../../adapters/sql/kit/driver-errors.ts'
import { whyUnwritable } from '../../adapters/system/files.ts'
import { readinessChecks, releasesCheck, makeCertificateInUse } from '../../composition/runtime/service/readiness.ts'
import { tooFewFiles } from '../../composition/runtime/http/connections.ts'
import { makeMetrics } from '../../composition/runtime/http/metrics.ts'
import { failingChecks, makeOpsServer } from '../../composition/runtime/http/ops-server.ts'
import { datedCertificate } from '../support/dated-certificate.ts'

const folder = mkdtempSync(join(tmpdir(), 'moorage-readiness-'))
test.after.always(() => rmSync(folder, { recursive: true, force: true }))

test('a read-only database is reported for 30 seconds after the last refusal', async (t) => {
  let seconds = 0
  const plain = await openDatabase('sqlite::memory:')
  t.teardown(() => plain.close())
  let fault: unknown
  const { database, refusal } = watchChanges(
    { ...plain, run: async () => Promise.reject(toThrown(fault)), transaction: async (work) => work(plain) },
    () => seconds * 1000,
  )
  const statement = database.prepare({}, (k) => k.raw('select 1'))
  const change = async (code: string, errno = 0): Promise<string | undefined> => {
    fault = Object.assign(new Error('text of the driver'), { code, errno })
    await t.throwsAsync(database.run(statement, {}))
    return refusal()
  }
  for (const [code, errno] of [
    ['SQLITE_CONSTRAINT_UNIQUE', 0],
    ['SQLITE_BUSY', 0],
    ['ER_LOCK_WAIT_TIMEOUT', 1205],
    ['ECONNREFUSED', 0],
  ] as const)
    t.is(await change(code, errno), undefined, code)
  for (const [code, errno, told] of [
    ['SQLITE_FULL', 0, 'The database is full and takes no changes.'],
    ['SQLITE_READONLY_DBMOVED', 0, 'The database takes no changes at present.'],
    ['ER_OPTION_PREVENTS_STATEMENT', 1290, 'The database takes no changes at present.'],
    ['ER_RECORD_FILE_FULL', 1114, 'The database is full and takes no changes.'],
  ] as const)
    t.is(await change(code, errno), told, code)
  seconds = 29
  t.truthy(refusal())
  t.deepEqual(await database.first(statement, {}), { 1: 1 })
  seconds = 30
  t.is(refusal(), undefined)
  await t.throwsAsync(
    database.transaction(async () => Promise.reject(toThrown(Object.assign(new Error('x'), { code: 'SQLITE_FULL' })))),
  )
  t.truthy(refusal())
})

test('a folder check writes, cleans up and names the obstacle', async (t) => {
  const made = join(folder, 'a', 'b')
  t.is(await whyUnwritable(made), undefined)
  t.deepEqual(readdirSync(made), [])
  writeFileSync(join(folder, 'file'), '')
  t.is(await whyUnwritable(join(folder, 'file')), 'EEXIST')
  t.is(await whyUnwritable(join(folder, 'file', 'x')), 'ENOTDIR')
})

const checksWith = (changes: Partial<Parameters<typeof readinessChecks>[0]>) =>
  readinessChecks({
    foundation: {
      database: { refuseLost: () => undefined, prepare: () => ({}), first: async () => undefined } as never,
      clock: { isSkewed: () => false } as never,
      refusal: () => undefined,
    },
    settings: { tempDir: join(folder, 'tmp') },
    certificate: () => undefined,
    logState: () => ({ lost: 0, trouble: undefined, backlogLength: 0, backlogAgeMs: 0 }),
    ...changes,
  })

const readyz = async (checks: ReturnType<typeof checksWith>) => {
  const metrics = makeMetrics('1')
  metrics.read({ failingChecks: () => failingChecks(checks) })
  const server = makeOpsServer({ checks, isStopping: () => false, metrics })
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 })
  try {
    const [plain, verbose, exposed] = await Promise.all(
      ['/readyz', '/readyz?verbose', '/metrics'].map((path) => fetch(`http://127.0.0.1:${port}${path}`)),
    )
    return {
      status: plain?.status,
      text: await plain?.text(),
      verbose: await verbose?.text(),
      metrics: await exposed?.text(),
    }
  } finally {
    await server.close()
  }
}

const blocked = join(folder, 'blocked')
writeFileSync(blocked, '')

test('shared problems are 200 and degraded, with reason and metric', async (t) => {
  t.like(await readyz(checksWith({})), { status: 200, text: 'ok\n' })
  const broken = await readyz(
    checksWith({
      foundation: {
        ...({
          database: { refuseLost: () => undefined, prepare: () => ({}), first: async () => undefined },
          clock: { isSkewed: () => false },
        } as never as object),
        refusal: () => 'The database is full.',
      } as never,
      settings: { tempDir: blocked },
      logState: () => ({ lost: 3, trouble: 'ENOSPC', backlogLength: 500, backlogAgeMs: 4_100 }),
    }),
  )
  t.is(broken.status, 200)
  t.is(broken.text, 'degraded: database changes, temporary files, log\n')
  t.regex(broken.verbose ?? '', /^\[-\] database changes: The database is full\.$/m)
  t.regex(broken.verbose ?? '', /^\[-\] temporary files: \S+blocked cannot be written \(EEXIST\)$/m)
  t.regex(
    broken.verbose ?? '',
    /^\[-\] log: it cannot be written \(ENOSPC\); 500 characters wait, since 4 s; 3 lines were lost since the start$/m,
  )
  t.regex(broken.metrics ?? '', /^moorage_degraded\{check="database changes"\} 1$/m)
  t.regex(broken.metrics ?? '', /^moorage_degraded\{check="certificate"\} 0$/m)
})

test('a database outage makes the instance not ready in text and metric', async (t) => {
  const away = async (): Promise<never> => {
    throw new Error('away')
  }
  const found = await readyz([
    ...checksWith({
      foundation: {
        database: { refuseLost: () => undefined, prepare: () => ({}), first: away } as never,
        clock: { isSkewed: () => false } as never,
        refusal: () => undefined,
      },
    }),
    releasesCheck({ knows: away, lowest: away }, '0001-some-migration'),
  ])
  t.is(found.status, 503)
  t.is(found.text, 'not ready: database\n')
  t.regex(found.verbose ?? '', /^\[-\] releases: the instances could not be read$/m)
  t.regex(found.metrics ?? '', /^moorage_not_ready\{check="database"\} 1$/m)
  t.regex(found.metrics ?? '', /^moorage_not_ready\{check="clock"\} 0$/m)
})

test('a certificate is reported 30 days before its end and degrades after it', async (t) => {
  const far = await datedCertificate(-1, 40)
  const near = await datedCertificate(-1, 6.5)
  const over = await datedCertificate(-3, -0.5)
  t.deepEqual([far, near, over].map(daysLeft), [39, 6, -1])
  t.deepEqual([far, near, over].map(nearsExpiry), [false, true, true])
  t.is(expiryTold(far), undefined)
  t.regex(expiryTold(near) ?? '', /^it ends at \S+Z, in 6 days$/)
  t.regex(expiryTold(over) ?? '', /^it ended at \S+Z$/)
  const used = makeCertificateInUse(near)
  const checks = checksWith({ certificate: used.current })
  const soon = await readyz(checks)
  t.deepEqual([soon.status, soon.text], [200, 'ok\n'])
  t.regex(soon.verbose ?? '', /^\[-\] certificate renewal: it ends at \S+Z, in 6 days$/m)
  used.replace(over)
  const ended = await readyz(checks)
  t.deepEqual([ended.status, ended.text], [200, 'degraded: certificate\n'])
  const told: string[] = []
  watchExpiry(
    () => far,
    (text) => void told.push(text),
  )()
  watchExpiry(used.current as () => typeof far, (text) => void told.push(text))()
  t.is(told.length, 1)
})

test('a process with too few file descriptors does not start', (t) => {
  const limits = (soft: string): string => `Max open files            ${soft} 1048576              files\n`
  t.regex(tooFewFiles(limits('32')) ?? '', /may have 32 files open, and needs 128 or more/)
  for (const soft of ['128', '1024', 'unlimited']) t.is(tooFewFiles(limits(soft)), undefined)
  t.is(tooFewFiles(''), undefined)
})
