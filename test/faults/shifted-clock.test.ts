// process: own - breaks what a service needs
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ExecutionContext } from 'ava'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import type { LocalClock } from '../../adapters/system/system-clock.ts'
import { localClock } from '../../adapters/system/system-clock.ts'
import { codeAt } from '../identity/one-time-code-of.ts'
import type { MailFolder } from '../mail/mail-folder.ts'
import { codeIn, readMailFolder } from '../mail/mail-folder.ts'
import { needing } from '../support/components/needing.ts'
import type { CookieJar } from '../support/cookie-jar.ts'
import { makeCookieJar } from '../support/cookie-jar.ts'
import { migratedMysqlUrl, openPatiently } from '../support/databases.ts'
import { plantTask } from '../support/plant-task.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import { startServiceProcess } from '../support/service-process.ts'
import type { TestService } from '../support/service.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
/**
 * Less than the smallest shift: what has so long left, or is over since so long, is judged wrongly by a shifted clock.
 */
const margin = 30 * minute

const password = 'quiet-lantern-over-water-17'
const api = '/api/v1'
type Sender = Pick<TestService, 'send'>

/** An instance whose clock is right, and what it shares with those whose clocks are not. */
let steady: TestService
let database: SqlDatabase
let mails: MailFolder
let shared: Readonly<Record<string, string>>
let folder: string
let owner: string

const test = needing('mariadb')

test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'moorage-shifted-'))
  const url = await migratedMysqlUrl()
  shared = {
    MOORAGE_DATABASE_URL: url,
    MOORAGE_KEYRING: join(folder, 'keyring.json'),
    MOORAGE_TLS: 'false',
    MOORAGE_AUDIT_RETENTION_DAYS: '1',
  }
  steady = await startService({ settings: { ...shared, MOORAGE_MAIL: `folder:${join(folder, 'mail')}` } })
  database = await openPatiently(url)
  mails = readMailFolder(join(folder, 'mail'))
  await person('olga')
  owner = await steady.tokenFor('olga')
  await done(steady.send('POST', `${api}/orgs`, { token: owner, body: { username: 'harbour', visibility: 'private' } }))
})
test.after.always(async () => {
  await steady?.stop()
  await database?.close()
  rmSync(folder, { recursive: true, force: true })
})

const done = async (answering: Promise<ServiceAnswer>): Promise<ServiceAnswer> => {
  const answer = await answering
  if (answer.status >= 300) throw new Error(`${answer.status} ${answer.text}`)
  return answer
}

const emailOf = (login: string): string => `${login}@example.com`
const person = async (login: string): Promise<number> => {
  const body = { username: login, email: emailOf(login), password, must_change_password: false }
  return (await done(steady.send('POST', `${api}/admin/users`, { token: steady.adminToken, body }))).json.id as number
}
const signIn = async (at: Sender, login: string, remember: boolean): Promise<CookieJar> => {
  const jar = makeCookieJar()
  jar.take(
    (await done(at.send('POST', `${api}/user/signin`, { body: { username: login, password, remember } }))).headers,
  )
  return jar
}
const statusOf = async (answering: Promise<ServiceAnswer>): Promise<number> => (await answering).status
const byCookies = (at: Sender, jar: CookieJar): Promise<number> =>
  statusOf(at.send('GET', `${api}/user`, { headers: jar.headers(`${api}/user`) }))
const byToken = (at: Sender, token: string): Promise<number> => statusOf(at.send('GET', `${api}/user`, { token }))
const invite = (at: Sender, login: string) =>
  done(
    at.send('POST', `${api}/orgs/harbour/invitations`, {
      token: owner,
      body: { email: emailOf(login), role: 'member' },
    }),
  )

/** Writes instants into the rows of one person. */
const setTimes = (
  table: string,
  where: Readonly<Record<string, string | number>>,
  columns: readonly string[],
  ms: number,
) =>
  database.query((k) =>
    k(table)
      .where(where)
      .update(Object.fromEntries(columns.map((column) => [column, ms]))),
  )

const whole = ['idle_expires_at', 'expires_at']

/** A person with one of each kind of credential, made at the right instance, that all end so much later than now. */
const holder = async (login: string, leftMs: number) => {
  const id = await person(login)
  const token = await steady.tokenFor(login)
  const session = await signIn(steady, login, false)
  const remembered = await signIn(steady, login, true)
  for (const name of ['moorage_session', '_csrf']) remembered.drop(name)
  await done(steady.send('POST', `${api}/user/forgot-password`, { body: { email: emailOf(login) } }))
  const reset = codeIn(await mails.nth(emailOf(login), 1))
  await invite(steady, login)
  const invitation =
    /accept-invitation\?code=([0-9A-Za-z]{32})\b/.exec((await mails.nth(emailOf(login), 2)).text ?? '')?.[1] ?? ''
  const at = Date.now() + leftMs
  await setTimes('access_tokens', { user_id: id }, ['expires_at'], at)
  await setTimes('sessions', { user_id: id }, whole, at)
  await setTimes('remembered_logins', { user_id: id }, ['expires_at'], at)
  await setTimes('identity_codes', { user_id: id }, ['expires_at'], at)
  await setTimes('org_invitations', { lower_email: emailOf(login) }, ['expires_at'], at)
  return { token, session, remembered, reset, invitation, lasting: await steady.tokenFor(login) }
}

/** What each credential of a holder is worth at an instance. The code comes last: it ends the sessions. */
const worthOf = async (at: Sender, held: Awaited<ReturnType<typeof holder>>): Promise<readonly number[]> => [
  await byCookies(at, held.session),
  await byCookies(at, held.remembered),
  await byToken(at, held.token),
  await statusOf(at.send('PUT', `${api}/user/invitations/${held.invitation}`, { token: held.lasting })),
  await statusOf(
    at.send('POST', `${api}/user/reset-password`, {
      body: { code: held.reset, password: 'another long phrase of ours' },
    }),
  ),
]

/** Rows that a clock half an hour ahead would remove: each is that much short of the time for which it is kept. */
const plantKept = async (prefix: string): Promise<void> => {
  const ago = (days: number): number => Date.now() - days * day + margin
  const [kept, gone, waiting] = [
    await person(`${prefix}-kept`),
    await person(`${prefix}-gone`),
    await person(`${prefix}-waiting`),
  ]
  const token = await steady.tokenFor(`${prefix}-kept`)
  await signIn(steady, `${prefix}-kept`, true)
  await done(steady.send('POST', `${api}/user/forgot-password`, { body: { email: emailOf(`${prefix}-kept`) } }))
  await done(
    steady.send('PATCH', `${api}/user/settings`, {
      token,
      headers: { 'Idempotency-Key': `key-of-${prefix}` },
      body: { full_name: 'Kept' },
    }),
  )
  await plantTask(steady, { tenantId: kept, actor: { id: kept, login: `${prefix}-kept` }, text: prefix })
  await done(
    steady.send('POST', `${api}/user/settings/account/delete`, {
      basic: [`${prefix}-gone`, password],
      body: { password },
    }),
  )
  await setTimes('users', { id: gone }, ['deactivated_at'], ago(30))
  await database.query((k) =>
    k('users')
      .where({ id: waiting })
      .update({ is_active: 0, unconfirmed_since: ago(7) }),
  )
  await setTimes('access_tokens', { user_id: kept }, ['expires_at'], ago(30))
  await setTimes('sessions', { user_id: kept }, whole, ago(7))
  await setTimes('remembered_logins', { user_id: kept }, ['expires_at'], ago(7))
  await setTimes('identity_codes', { user_id: kept }, ['created_at', 'expires_at'], ago(1))
  await setTimes('idempotency_records', {}, ['created_at'], ago(2))
  await setTimes('tasks', { tenant_id: kept }, ['created_at', 'started_at', 'ended_at'], ago(7))
}

const keptTables = [
  'users',
  'access_tokens',
  'sessions',
  'remembered_logins',
  'identity_codes',
  'org_invitations',
  'idempotency_records',
  'tasks',
  'audit_events',
] as const

/** Every row that is to be there still, as table and id: all but invitations that are over. */
const rowsNow = async (): Promise<ReadonlySet<string>> => {
  const rowsOf = async (table: string): Promise<readonly string[]> => {
    const rows = await database.query<{ id: number }>((k) =>
      (table === 'org_invitations' ? k(table).where('expires_at', '>', Date.now()) : k(table)).select('id'),
    )
    return rows.map(({ id }) => `${table} ${id}`)
  }
  return new Set((await Promise.all(keptTables.map(rowsOf))).flat())
}
const goneOf = (before: ReadonlySet<string>, after: ReadonlySet<string>): readonly string[] =>
  [...before].filter((row) => !after.has(row))

/** What an instance does when its clock is so far from the database's. */
const assertHeld = async (t: ExecutionContext, opsUrl: string, shiftMs: number): Promise<void> => {
  const ready = await fetch(`${opsUrl}/readyz?verbose`)
  const text = await ready.text()
  t.is(ready.status, 503)
  t.regex(
    text,
    shiftMs > 0
      ? /^\[-\] clock: this machine's clock is \d+\.\d s ahead of the database's/m
      : /^\[-\] clock: this machine's clock is \d+\.\d s behind the database's/m,
  )
  t.regex(text, /^not ready: clock$/m)
  const metrics = await (await fetch(`${opsUrl}/metrics`)).text()
  const skew = Number(/^moorage_clock_skew_seconds (\S+)$/m.exec(metrics)?.[1])
  t.true(Math.abs(skew * 1000 - shiftMs) < minute, `${skew}`)
  t.notRegex(metrics, /^moorage_job_runs_total\{/m, 'no job has run')
}

/** The longest life of what was made since, by column, less what it should be. */
const limits = [
  ['sessions', 'expires_at', 24 * hour],
  ['sessions', 'idle_expires_at', hour],
  ['remembered_logins', 'expires_at', 30 * day],
  ['identity_codes', 'expires_at', 30 * minute],
  ['org_invitations', 'expires_at', 7 * day],
] as const

const ownerOf = (table: string, id: number, login: string): Readonly<Record<string, string | number>> =>
  table === 'org_invitations' ? { lower_email: emailOf(login) } : { user_id: id }

/**
 * Opens everything at the shifted instance: each ends when it would if the right one had opened it, there and
 * elsewhere.
 */
const assertLives = async (t: ExecutionContext, shifted: Sender, login: string): Promise<void> => {
  const id = await person(login)
  const session = await signIn(shifted, login, true)
  session.drop('moorage_session_remember')
  await done(shifted.send('POST', `${api}/user/forgot-password`, { body: { email: emailOf(login) } }))
  await invite(shifted, login)
  for (const [table, column, limit] of limits) {
    // The code of a forgotten password is made after the answer.
    const row = await until(
      `a row of ${table}`,
      async () =>
        (
          await database.query<Readonly<Record<string, number>>>((k) =>
            k(table)
              .where(ownerOf(table, id, login))
              .select(column),
          )
        )[0],
    )
    const left = Number(row[column]) - Date.now()
    t.true(left <= limit + 5_000 && left > limit - 5 * minute, `${table}.${column}: ${left / minute} minutes`)
  }
  t.deepEqual([await byCookies(shifted, session), await byCookies(steady, session)], [200, 200])
  // No statement of the service moves this mark back, so what is remembered of the session depends on a column beside it.
  await database.query((k) =>
    k('sessions')
      .where({ user_id: id })
      .update({ idle_expires_at: k.raw('idle_expires_at - ?', [hour]), expires_at: k.ref('expires_at') }),
  )
  t.deepEqual([await byCookies(shifted, session), await byCookies(steady, session)], [401, 401])
}

/** A code is of the time that the phone has, not of the time that the instance's machine has. */
const assertOneTimeCodes = async (
  t: ExecutionContext,
  shifted: Sender,
  login: string,
  shiftMs: number,
): Promise<void> => {
  await person(login)
  const basic = [login, password] as const
  const seed = (await done(steady.send('GET', '/api/v1/user/settings/security/twofa/enroll', { basic }))).json
    .twoFASecret as string
  await done(
    steady.send('POST', '/api/v1/user/settings/security/twofa/enroll', {
      basic,
      body: { passCode: codeAt(seed, new Date()) },
    }),
  )
  const withCode = (passCode: string) =>
    statusOf(shifted.send('POST', `${api}/user/signin/twofa`, { body: { username: login, password, passCode } }))
  t.not(await withCode(codeAt(seed, new Date(Date.now() + shiftMs))), 200)
  t.is(await withCode(codeAt(seed, new Date(), 1)), 200)
}

/** A mail that no server takes waits for another attempt, for as long as it would elsewhere. */
const assertMailWaits = async (t: ExecutionContext, login: string): Promise<void> => {
  const row = await until('the mail was tried', async () => {
    const rows = await database.query<Readonly<Record<string, number | string | null>>>((k) =>
      k('mail_outbox').whereNotNull('last_error').orderBy('id', 'desc').limit(1).select(),
    )
    return rows[0]
  })
  t.true(Math.abs(Number(row['created_at']) - Date.now()) < 5 * minute, login)
  t.true(Number(row['not_before']) - Date.now() < 10 * minute && Number(row['not_before']) > Date.now() - minute, login)
}

const shiftedBy = (shift: { ms: number }): LocalClock => ({
  ...localClock,
  wallMs: () => localClock.wallMs() + shift.ms,
})

for (const [name, ms] of [
  ['400 days ahead', 400 * day],
  ['400 days behind', -400 * day],
  ['an hour ahead', hour],
] as const) {
  const prefix = name.replaceAll(/[^a-z0-9]+/g, '')
  test.serial(`of two instances one is ${name}: it removes and accepts nothing wrongly`, async (t) => {
    const near = await holder(`${prefix}-near`, margin)
    await plantKept(prefix)
    const before = await rowsNow()
    const shift = { ms }
    const shifted = await startService({
      settings: { ...shared, MOORAGE_MAIL: 'smtp://127.0.0.1:9?tls=off' },
      localClock: shiftedBy(shift),
    })
    t.teardown(() => shifted.stop())
    await assertHeld(t, shifted.opsUrl, ms)
    // That no job starts there is one thing; the other is that each would go by the right time.
    for (const { job } of shifted.running.assembly.jobs) await job.run(AbortSignal.timeout(minute))
    t.deepEqual(goneOf(before, await rowsNow()), [])
    const past = await holder(`${prefix}-past`, -margin)
    t.deepEqual(await worthOf(shifted, past), [401, 401, 401, 410, 422])
    t.deepEqual(await worthOf(shifted, near), [200, 200, 200, 204, 200])
    await assertLives(t, shifted, `${prefix}-new`)
    await assertOneTimeCodes(t, shifted, `${prefix}-code`, ms)
    await assertMailWaits(t, prefix)
    t.is(
      shifted
        .logLines()
        .filter(({ msg }) => String(msg).startsWith('the clocks of this machine and of the database differ')).length,
      1,
    )
    shift.ms = 0
    await until('the clocks agree', async () => shifted.logText().includes('agree again') || undefined)
    t.is((await fetch(`${shifted.opsUrl}/readyz`)).status, 200)
  })
}

/** Runs before anything else in the process: every use of Date, in libraries too, is off by so much. */
const shiftOfDate = (ms: number): string => {
  const code = `const real = Date
const now = () => real.now() + ${ms}
globalThis.Date = new Proxy(real, {
  construct: (target, given, made) => Reflect.construct(target, given.length === 0 ? [now()] : given, made),
  apply: () => new real(now()).toString(),
  get: (target, key) => (key === 'now' ? now : Reflect.get(target, key)),
})`
  return `--import=data:text/javascript,${encodeURIComponent(code)}`
}

test.serial('a process 400 days ahead removes nothing and extends nothing', async (t) => {
  const near = await holder('process-near', margin)
  await plantKept('process')
  const before = await rowsNow()
  // Between two runs a job is its last holder's.
  await database.query((k) => k('leases').delete())
  const mailFolder = join(folder, 'mail-of-process')
  const shifted = await startServiceProcess({
    settings: { ...shared, MOORAGE_MAIL: `folder:${mailFolder}`, NODE_OPTIONS: shiftOfDate(400 * day) },
  })
  t.teardown(() => shifted.stop())
  await assertHeld(t, shifted.opsUrl, 400 * day)
  await assertLives(t, shifted, 'process-new')
  const mail = await readMailFolder(mailFolder).nth(emailOf('process-new'), 1)
  t.true(Math.abs(Date.parse(mail.date ?? '') - Date.now()) < 5 * minute, mail.date)
  t.deepEqual(goneOf(before, await rowsNow()), [])
  t.deepEqual(await worthOf(shifted, near), [200, 200, 200, 204, 200])
  await shifted.stop()
  t.is(
    shifted
      .stderr()
      .split('\n')
      .filter((line) => line.includes('the clocks of this machine and of the database differ')).length,
    1,
  )
})
