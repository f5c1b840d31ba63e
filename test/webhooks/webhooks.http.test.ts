import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { openDatabase } from '../../adapters/sql/engine/database.ts'
import { runJob } from '../bus/bus-fixture.ts'
import { readMailFolder } from '../mail/mail-folder.ts'
import type { ServiceFixture } from '../organizations/service-fixture.ts'
import { startFixture } from '../organizations/service-fixture.ts'
import type { ReceivedEvent, Receiver } from './receiver.ts'
import { startReceiver, verified } from './receiver.ts'

let fixture: ServiceFixture
let receiver: Receiver
const mails = mkdtempSync(join(tmpdir(), 'moorage-webhook-mails-'))
test.before(async () => {
  receiver = await startReceiver()
  fixture = await startFixture({ settings: { MOORAGE_EGRESS_ALLOW: '127.0.0.1', MOORAGE_MAIL: `folder:${mails}` } })
})
test.after.always(async () => {
  receiver.stop()
  await fixture.stop()
  rmSync(mails, { recursive: true })
})

interface Made {
  readonly id: number
  readonly secret: string
}

const root = '/orgs/acme/webhooks'

const created = async (path: string, more: object = {}, login = 'ada', at = root): Promise<Made> => {
  const answer = await fixture.as(login, 'POST', at, { name: path, url: receiver.url(path), ...more })
  if (answer.status !== 201) throw new Error(answer.text)
  return answer.json as Made
}

interface ShownDelivery {
  readonly id: number
  readonly event_id: string
  readonly state: string
  readonly attempts: number
  readonly response_status: number
  readonly due_at?: string
}

const deliveriesOf = async (id: number, at = root, login = 'ada'): Promise<readonly ShownDelivery[]> =>
  (await fixture.as(login, 'GET', `${at}/${id}/deliveries`)).json as readonly ShownDelivery[]

/** Runs the jobs, which the service runs too, until a value is there. */
const until = async <A>(found: () => A | undefined | Promise<A | undefined>): Promise<A> => {
  const last = Date.now() + 30_000
  for (;;) {
    if (Date.now() > last) throw new Error('it does not come')
    await runJob(fixture.service, 'webhooks.collect')
    await runJob(fixture.service, 'webhooks.deliver')
    const value = await found()
    if (value !== undefined) return value
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

const firstAt = (path: string): Promise<ReceivedEvent> => until(() => receiver.at(path)[0])

let teams = 0
/** Makes a change that is an event. Returns the name of its object. */
const change = async (login = 'ada', org = 'acme'): Promise<string> => {
  const name = `crew-${(teams += 1)}`
  const answer = await fixture.as(login, 'POST', `/orgs/${org}/teams`, { name, permission: 'read' })
  if (answer.status !== 201) throw new Error(answer.text)
  return name
}

/** The name of the object of an event. */
const objectOf = ({ body }: ReceivedEvent): unknown =>
  (JSON.parse(body) as { readonly data: { readonly object: { readonly name: string } } }).data.object.name

test.serial('a change is sent as an event that the library for receivers verifies', async (t) => {
  const { secret } = await created('/thin', { events: ['team.created'] })
  const name = await change()
  const event = await firstAt('/thin')
  const { type, timestamp, data } = verified(secret, event)
  t.is(type, 'team.created')
  t.false(Number.isNaN(Date.parse(String(timestamp))))
  const { object, ...rest } = data as { readonly object: { readonly id: number } }
  const acme = (await fixture.as('ada', 'GET', '/orgs/acme')).json as { readonly id: number }
  t.deepEqual(rest as object, {
    account_id: acme.id,
    actor: { id: fixture.idOf('ada'), login: 'ada' },
    details: {},
  })
  t.like(object, { type: 'team', name })
  t.regex(event.headers['webhook-id'] ?? '', /^evt_\d+$/)
  t.throws(() => verified('whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', event))
})

test.serial('a webhook with the form of CloudEvents sends structured events', async (t) => {
  const { secret } = await created('/cloud', { format: 'cloudevents', events: ['*'] })
  await change()
  const event = await firstAt('/cloud')
  t.regex(event.headers['content-type'] ?? '', /^application\/cloudevents\+json/)
  t.like(verified(secret, event), {
    specversion: '1.0',
    id: event.headers['webhook-id'],
    source: `${fixture.service.baseUrl}/api/v1`,
    datacontenttype: 'application/json',
  })
})

test.serial('a webhook gets only the event types of its filter', async (t) => {
  await created('/filtered', { events: ['robot.created'] })
  const { id } = await created('/unfiltered')
  const name = await change()
  await until(() => receiver.at('/unfiltered').find((event) => objectOf(event) === name))
  await fixture.as('ada', 'POST', '/orgs/acme/robots', { name: 'mate' })
  await firstAt('/filtered')
  t.deepEqual([...new Set(receiver.at('/filtered').map(objectOf))].length, 1)
  t.true((await deliveriesOf(id)).length >= 2)
})

test.serial('an organization gets no events of another, and the site gets those of all', async (t) => {
  await created('/acme')
  await created('/evil', {}, 'eve', '/orgs/evil/webhooks')
  await created('/site', { events: ['team.created'] }, 'admin', '/admin/webhooks')
  const [ofAcme, ofEvil] = [await change(), await change('eve', 'evil')]
  const has = (path: string, name: string) => receiver.at(path).some((event) => objectOf(event) === name)
  await until(() => (has('/acme', ofAcme) && has('/evil', ofEvil) ? true : undefined))
  await until(() => (has('/site', ofAcme) && has('/site', ofEvil) ? true : undefined))
  t.false(has('/acme', ofEvil))
  t.false(has('/evil', ofAcme))
})

test.serial('the former secret signs too after a rotation', async (t) => {
  const { id, secret } = await created('/rotated', { events: ['team.created'] })
  const answer = await fixture.as('ada', 'POST', `${root}/${id}/rotate-secret`)
  const next = (answer.json as Made).secret
  t.not(next, secret)
  const name = await change()
  const event = await until(() => receiver.at('/rotated').find((each) => objectOf(each) === name))
  t.notThrows(() => verified(secret, event))
  t.notThrows(() => verified(next, event))
  t.false((await fixture.as('ada', 'GET', `${root}/${id}`)).text.includes('whsec_'))
})

test.serial('an attempt that fails is made again later with the same id', async (t) => {
  const { id } = await created('/off/500', { events: ['team.created'] })
  await change()
  const [delivery] = await until(async () => {
    const found = await deliveriesOf(id)
    return found[0]?.attempts === 0 || found.length === 0 ? undefined : found
  })
  t.like(delivery, { state: 'pending', response_status: 500 })
  t.truthy(delivery?.due_at)
  const shown = await fixture.as('ada', 'GET', `${root}/${id}/deliveries/${delivery?.id}`)
  t.is((shown.json as { readonly response_body: string }).response_body, 'answer of /off/500')
  await fixture.as('ada', 'PATCH', `${root}/${id}`, { url: receiver.url('/on') })
  await fixture.as('ada', 'POST', `${root}/${id}/deliveries/${delivery?.id}/redeliver`)
  const event = await firstAt('/on')
  t.is(event.headers['webhook-id'], delivery?.event_id)
})

test.serial('redirects are not followed and count as failures', async (t) => {
  const { id } = await created('/moved/redirect', { events: ['team.created'] })
  await change()
  const delivery = await until(async () => (await deliveriesOf(id)).find(({ attempts }) => attempts > 0))
  t.like(delivery, { state: 'pending', response_status: 302 })
  t.deepEqual(receiver.at('/elsewhere'), [])
})

test.serial('a test event is sent whatever the filter is', async (t) => {
  const { id, secret } = await created('/tested', { events: ['role.created'] })
  const answer = await fixture.as('ada', 'POST', `${root}/${id}/test`)
  t.is(answer.status, 202)
  const event = await firstAt('/tested')
  t.is(event.headers['webhook-id'], (answer.json as { readonly event_id: string }).event_id)
  t.is(verified(secret, event)['type'], 'webhook.test')
})

const inDatabase = async (work: (database: Awaited<ReturnType<typeof openDatabase>>) => Promise<unknown>) => {
  const database = await openDatabase(fixture.service.databaseUrl)
  try {
    await work(database)
  } finally {
    await database.close()
  }
}

test.serial('a webhook is disabled after days of failures, and its owners get a mail', async (t) => {
  const { id } = await created('/dead/503', { events: ['team.created'] })
  const sixDaysAgo = Date.now() - 6 * 86_400_000
  await inDatabase((database) =>
    database.query((k) => k('webhooks').where({ id }).update({ failing_since: sixDaysAgo, failures: 40 })),
  )
  await change()
  const shown = await until(async () => {
    const { json } = await fixture.as('ada', 'GET', `${root}/${id}`)
    return (json as { readonly is_enabled: boolean }).is_enabled ? undefined : json
  })
  t.like(shown, { disabled_reason: 'its receiver has failed for 5 days.' })
  const mail = await readMailFolder(mails).nth('ada@example.org', 1)
  t.is(mail.subject, 'The webhook /dead/503 was disabled')
  t.is((await fixture.as('ada', 'POST', `${root}/${id}/test`)).status, 409)
})

test.serial('a receiver that answers 410 disables its webhook', async (t) => {
  const { id } = await created('/gone/410', { events: ['team.created'] })
  await change()
  const shown = await until(async () => {
    const { json } = await fixture.as('ada', 'GET', `${root}/${id}`)
    return (json as { readonly is_enabled: boolean }).is_enabled ? undefined : json
  })
  t.like(shown, { disabled_reason: 'its receiver answered 410 (Gone).' })
  t.like((await deliveriesOf(id))[0], { state: 'failed', response_status: 410 })
  const enabled = await fixture.as('ada', 'PATCH', `${root}/${id}`, { is_enabled: true, url: receiver.url('/back') })
  t.like(enabled.json, { is_enabled: true, disabled_reason: '', failures: 0 })
})

test.serial('only owners see and change webhooks, each those of their organization', async (t) => {
  const { id } = await created('/owned')
  for (const login of ['adam', 'vic', 'eve', undefined])
    for (const [method, path] of [
      ['GET', root],
      ['GET', `${root}/${id}`],
      ['DELETE', `${root}/${id}`],
      ['POST', `${root}/${id}/test`],
    ] as const)
      t.true([401, 403, 404].includes((await fixture.as(login, method, path)).status), `${login} ${method} ${path}`)
  t.is((await fixture.as('eve', 'GET', `/orgs/evil/webhooks/${id}`)).status, 404)
  t.is((await fixture.as('eve', 'GET', `/orgs/evil/webhooks/${id}/deliveries`)).status, 404)
  t.is((await fixture.as('ada', 'GET', '/admin/webhooks')).status, 403)
  t.is((await fixture.as('ada', 'DELETE', `${root}/${id}`)).status, 204)
  t.is((await fixture.as('ada', 'GET', `${root}/${id}`)).status, 404)
})

test.serial('a webhook that cannot work is refused', async (t) => {
  const url = receiver.url('/refused')
  for (const body of [
    {},
    { name: 'x' },
    { name: 'x', url: 'no address' },
    { name: 'x', url: 'ftp://example.com' },
    { name: 'x', url: 'https://user:password@example.com' },
    { name: 'x', url, events: [] },
    { name: 'x', url, events: ['no.such_type'] },
    { name: 'x', url, format: 'xml' },
  ])
    t.is((await fixture.as('ada', 'POST', root, body)).status, 422, JSON.stringify(body))
})

test.serial('an address that is not allowed is not reached', async (t) => {
  const { id } = await created('/x', { url: 'http://169.254.169.254/latest/meta-data' })
  await change()
  const delivery = await until(async () => (await deliveriesOf(id)).find(({ attempts }) => attempts > 0))
  t.like(delivery, { state: 'pending', response_status: 0 })
})

test.serial('deliveries are removed after a week', async (t) => {
  const { id } = await created('/old', { events: ['team.created'] })
  await change()
  await firstAt('/old')
  await inDatabase((database) =>
    database.query((k) =>
      k('webhook_deliveries')
        .where({ webhook_id: id })
        .update({ created_at: Date.now() - 8 * 86_400_000 }),
    ),
  )
  await runJob(fixture.service, 'webhooks.removeOld')
  t.deepEqual(await deliveriesOf(id), [])
})
