// process: own - breaks what a service needs
import { setTimeout as sleep } from 'node:timers/promises'
import type { ExecutionContext } from 'ava'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { needing } from '../support/components/needing.ts'
import { adminLogin, adminPassword } from '../support/service.ts'
import { effectsOf, findings, idOf } from './ledger-findings.ts'
import { inTime, startLinkedService, untilReadiness } from './linked-service.ts'
import { isAcknowledged, makeWriteLedger, type WriteLedger } from './write-ledger.ts'

const test = needing('mariadb')

/** Every answer was yes or 503 with a time to come again, and the database bears them all out. */
const assertNoLie = async (t: ExecutionContext, ledger: WriteLedger, direct: SqlDatabase): Promise<void> => {
  const strange = ledger.attempts.filter(
    (attempt) =>
      !isAcknowledged(attempt) &&
      (attempt.answer?.status !== 503 || attempt.answer.headers['retry-after'] === undefined),
  )
  t.deepEqual(
    strange.map(({ kind, name, answer }) => `${kind} ${name}: ${answer?.status ?? 'no answer'} ${answer?.text ?? ''}`),
    [],
  )
  t.deepEqual(await findings(direct, ledger.attempts), [])
}

/** What was refused with 503 under a key is sent once more: it happens once, also where it had happened already. */
const assertOnceAfterRetry = async (t: ExecutionContext, ledger: WriteLedger, direct: SqlDatabase): Promise<void> => {
  // Where the link was down, the begun record could not be taken back: the service does so once it can.
  const refused = ledger.attempts.filter((each) => each.key !== undefined && !isAcknowledged(each))
  await Promise.all(
    refused.map(async (attempt) => {
      const again = await ledger.settle(attempt)
      const told = `${attempt.kind} ${attempt.name}: ${again.status} ${again.text}`
      t.true(again.status === 201 || again.status === 200, told)
      t.is(again.json?.id, await idOf(direct, attempt), told)
      t.deepEqual(await effectsOf(direct, attempt), { rows: 1, audited: 1 }, told)
    }),
  )
}

test('broken database links give success or 503, and the service recovers', async (t) => {
  const { service, link, direct } = await startLinkedService(t)
  const ledger = makeWriteLedger({ target: service, token: service.adminToken, home: 'home', prefix: 'm' })
  const stream = ledger.run(6)
  t.teardown(() => stream.stop())
  for (let round = 0; round < 6; round++) {
    await ledger.untilAcknowledged(6)
    link.cut()
  }
  for (let round = 0; round < 3; round++) {
    await ledger.untilAcknowledged(6)
    link.dropResponses()
    await sleep(100)
    link.resume()
  }
  for (let round = 0; round < 6; round++) {
    await ledger.untilAcknowledged(3)
    await link.cutAfterClientBytesMatching('commit')
  }
  await ledger.untilAcknowledged(12)
  await stream.stop()
  t.true(
    ledger.attempts.some(({ answer }) => answer?.status === 503),
    'the faults were felt',
  )
  await assertNoLie(t, ledger, direct)
  await assertOnceAfterRetry(t, ledger, direct)
  await untilReadiness(service.opsUrl, 200)
})

test('a half-open link ends every request with 503 in time, then recovers', async (t) => {
  const { service, link, direct } = await startLinkedService(t)
  const ledger = makeWriteLedger({ target: service, token: service.adminToken, home: 'home', prefix: 'h' })
  const stream = ledger.run(4)
  t.teardown(() => stream.stop())
  await ledger.untilAcknowledged(8)
  link.pause()
  const asked = ['/api/v1/user', '/api/v1/orgs/home/teams', '/api/v1/users/search?q=a'].map((path) =>
    service.send('GET', path, { token: service.adminToken }),
  )
  const changing = service.send('POST', '/api/v1/orgs', {
    token: service.adminToken,
    body: { username: 'meanwhile' },
    headers: { 'Idempotency-Key': 'meanwhile' },
  })
  const signingIn = service.send('POST', '/api/v1/user/signin', {
    body: { username: adminLogin, password: adminPassword },
  })
  await untilReadiness(service.opsUrl, 503)
  t.is((await service.send('GET', '/api/v1/version')).status, 200)
  t.is((await fetch(`${service.opsUrl}/livez`)).status, 200)
  const answers = await inTime('a request over a half-open link', Promise.all([...asked, changing, signingIn]))
  t.deepEqual(
    answers.map(({ status }) => status),
    answers.map(() => 503),
  )
  for (const { json, headers } of answers) {
    t.is(json.code, 'Unavailable')
    t.regex(String(headers['retry-after']), /^[1-9]\d*$/)
  }
  link.resume()
  await untilReadiness(service.opsUrl, 200)
  await ledger.untilAcknowledged(12)
  await stream.stop()
  await assertNoLie(t, ledger, direct)
  await assertOnceAfterRetry(t, ledger, direct)
  t.is(
    (await service.send('POST', '/api/v1/user/signin', { body: { username: adminLogin, password: adminPassword } }))
      .status,
    200,
  )
  t.is((await service.send('GET', '/api/v1/user', { token: service.adminToken })).json.login, adminLogin)
})

test('a commit with a lost answer is reported correctly and done once', async (t) => {
  const { service, link, direct } = await startLinkedService(t)
  const create = (name: string, headers: Record<string, string> = {}) =>
    service.send('POST', '/api/v1/orgs', { token: service.adminToken, body: { username: name }, headers })
  const countOf = async (name: string) =>
    effectsOf(direct, { kind: 'organization', name, key: undefined, answer: undefined })

  const keyedCut = link.cutAfterClientBytesMatching('commit')
  const keyed = await create('keyed', { 'Idempotency-Key': 'one' })
  await keyedCut
  t.is(keyed.status, 201, keyed.text)
  t.deepEqual(await countOf('keyed'), { rows: 1, audited: 1 })
  const replayed = await create('keyed', { 'Idempotency-Key': 'one' })
  t.deepEqual([replayed.status, replayed.text, replayed.headers['idempotency-replayed']], [201, keyed.text, 'true'])
  t.deepEqual(await countOf('keyed'), { rows: 1, audited: 1 })

  const bareCut = link.cutAfterClientBytesMatching('commit')
  const bare = await create('bare')
  await bareCut
  t.is(bare.status, 503)
  t.deepEqual(await countOf('bare'), { rows: 1, audited: 1 })
  t.is((await create('bare')).status, 422, 'the name is taken by the first')
  t.deepEqual(await countOf('bare'), { rows: 1, audited: 1 })
})
