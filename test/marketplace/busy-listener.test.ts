// process: own - keeps the database from a service
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { openSqliteConnection } from '../../adapters/sql/engine/sqlite-connection.ts'
import { SubscriptionStorePort } from '../../core/marketplace/ports.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import { until } from '../support/until.ts'
import { secretOf, startMarket } from './market-service.ts'

const [atOnce, waiting, tooMany] = [8, 256, 12]

test('a busy listener refuses excess notifications and loses none', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-market-busy-'))
  const file = join(folder, 'moorage.db')
  const service = await startMarket('B', { settings: { MOORAGE_DATABASE_URL: `sqlite:${file}` } })
  t.teardown(async () => {
    await service.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  const bodies = Array.from({ length: atOnce + waiting + tooMany }, () => ({
    eventType: 'PUT',
    applicationId: `/subscriptions/${randomUUID()}/resourceGroups/g/providers/Microsoft.Solutions/applications/app`,
    eventTime: '2026-11-20T12:00:00.0000001Z',
    provisioningState: 'Accepted',
  }))
  const answers = new Map<unknown, ServiceAnswer>()
  const notify = async (body: object, from: string): Promise<ServiceAnswer> => {
    const path = `/marketplaces/cloudB/notification/resource?secret=${secretOf}`
    const answer = await service.sendTo('POST', path, { body, headers: { 'X-Forwarded-For': from } })
    answers.set(body, answer)
    return answer
  }

  const holder = openSqliteConnection(file, 'read-write')
  holder.raw.exec('begin immediate')
  const sent = bodies.map((body) => notify(body, '198.51.100.7'))
  await until('the excess is answered', () => (answers.size >= tooMany ? true : undefined))
  const refused = [...answers.values()]
  const ofAnotherNetwork = { ...bodies[0], applicationId: bodies[0]?.applicationId.replace('/g/', '/other/') }
  const other = notify(ofAnotherNetwork, '203.0.113.9')
  holder.raw.exec('rollback')
  holder.raw.close()

  t.true(refused.length < bodies.length, 'the others wait')
  for (const { status, headers, json } of refused) {
    t.is(status, 503)
    t.regex(String(headers['retry-after']), /^[1-4]$/)
    t.deepEqual(Object.keys(json), ['message'])
  }
  t.is((await other).status, 200, 'a network that sends little is served beside one that floods')
  for (const { status, headers } of await Promise.all(sent))
    t.true(status === 200 || (status === 503 && headers['retry-after'] !== undefined), String(status))

  const stored = async () => {
    const { items } = await service.running.container.resolve(SubscriptionStorePort).list({ page: 1, limit: 1000 })
    return new Set(items.map(({ applicationId }) => applicationId))
  }
  const acknowledged = bodies.filter((body) => answers.get(body)?.status === 200)
  const known = await stored()
  t.deepEqual(
    acknowledged.filter(({ applicationId }) => !known.has(applicationId)),
    [],
  )
  for (const body of bodies.filter((each) => answers.get(each)?.status !== 200))
    t.is((await notify(body, '198.51.100.7')).status, 200)
  t.is((await stored()).size, bodies.length + 1)
})
