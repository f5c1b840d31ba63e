// process: own - changes its process, or keeps it busy
import { execFileSync } from 'node:child_process'
import { createPublicKey, randomUUID, verify } from 'node:crypto'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import test from 'ava'
import { CORE_SCHEMA, load } from 'js-yaml'
import { extract } from 'tar-stream'
import { runCommandLine } from '../../composition/moorage.ts'
import type { ContractId } from '../../core/contracts/types.ts'
import { SubscriptionStorePort } from '../../core/marketplace/ports.ts'
import { makePeople } from '../clusters/cluster-fixture.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import type { MarketService } from './market-service.ts'
import { bindOf, secretOf, startMarket } from './market-service.ts'
import { contractOf, openStoreOf } from './store-of.ts'

const path = '/marketplaces/cloudC/notification/resource'
/** An installer with this id is planted: the id of the test installer is known before the service starts. */
const testInstaller = 'e'.repeat(32)
const folder = mkdtempSync(join(tmpdir(), 'moorage-market-c-'))
let service: MarketService
let org: string
test.before(async () => {
  service = await startMarket('C', {
    settings: { MOORAGE_CLOUD_C_TEST_INSTALLER: testInstaller, MOORAGE_DATA_DIR: folder },
  })
  const people = makePeople(service)
  org = await people.organization(await people.person('buyer'))
})
test.after.always(async () => {
  await service?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const notify = (body: unknown, query = `?secret=${secretOf}`): Promise<ServiceAnswer> =>
  service.sendTo('POST', `${path}${query}`, { body })
const admin = (method: string, to: string, more: object = {}): Promise<ServiceAnswer> =>
  service.send(method, `/api/v1${to}`, { token: service.adminToken, ...more })
const notification = (bindingInfo: unknown, eventTime = new Date().toISOString()) => ({
  eventType: 'ENTITLEMENT_ACTIVE',
  eventTime,
  bindingInfo,
})

test('one notification binds an installer, and a repetition gets its link', async (t) => {
  const installer = await service.createInstaller()
  const body = notification(bindOf(installer), '2026-11-20T12:00:00.1234567Z')
  const first = await notify(body)
  t.is(first.status, 200, first.text)
  const again = await Promise.all([notify(body), notify(body)])
  for (const { status, text } of again) t.deepEqual([status, text], [200, first.text])
  t.is((await notify({ ...body, eventTime: '2026-11-20T12:00:01Z' })).status, 403)
  t.is((await notify({ ...body, eventTime: undefined })).status, 403)
  t.is((await notify(notification(bindOf({ marketplace: 'CloudC', ref: 'f'.repeat(32) })))).status, 400)
})

test('the test installer is exempt from the secret, and from nothing else', async (t) => {
  const planted = await service.createInstaller()
  await openStoreOf(service, (database) =>
    database.query((k) => k('marketplace_installers').where('ref', planted.ref).update({ ref: testInstaller })),
  )
  const other = await service.createInstaller()
  for (const query of ['', '?secret=wrong', '?secret=']) {
    t.is((await notify(notification(bindOf(other)), query)).status, 403)
    t.is((await notify('{', query)).status, 403)
    t.is((await notify({}, query)).status, 403)
  }
  const own = { marketplace: 'CloudC' as const, ref: testInstaller }
  t.is((await notify(notification({ ...bindOf(own), clusterId: '' }), '')).status, 400)
  t.is((await notify(notification({ ...bindOf(own), marketplace: 'CloudA' }), '')).status, 400)
  t.is((await notify(notification(bindOf(own)), '')).status, 200)
  t.is((await notify(notification(bindOf(own)), '')).status, 403)
})

const claimable = (claim: string): Promise<ServiceAnswer> =>
  service.sendTo('GET', `/marketplaces/standalone-organizations/${claim}/claimable`)

test.serial('a claim can be taken once its installer is bound', async (t) => {
  const installer = await service.createInstaller({ products: [{ product: 'database', features: ['db-basic'] }] })
  const claim = installer.claimRef
  t.deepEqual((await admin('GET', '/orgs/claim')).json, { isClaimable: false, claimID: '' })
  const first = await claimable(claim)
  t.deepEqual([first.status, first.json], [200, { isClaimable: false, claimID: claim }])
  const soon = await claimable(claim)
  t.is(soon.status, 429)
  t.true(Number(soon.headers['retry-after']) >= 20 && Number(soon.headers['retry-after']) <= 40)
  t.is((await admin('PATCH', `/orgs/claim/${claim}`, { body: {} })).status, 409, 'not allowed yet')

  const clusterId = randomUUID()
  t.is((await notify(notification(bindOf(installer, { clusterId })))).status, 200)
  // It is bound, and the rules would allow it; no question was answered with yes: it is not listed, and not taken.
  t.not((await admin('GET', '/orgs/claim')).json.claimID, claim)
  t.is((await admin('PATCH', `/orgs/claim/${claim}`, { body: {} })).status, 409)
  // The bind has ended the wait. One of them asks the rules; the others are told to wait, or see its result.
  const answers = await Promise.all([claimable(claim), claimable(claim), claimable(claim)])
  t.true(answers.some(({ status }) => status === 200))
  for (const { status, json } of answers) t.true(status === 429 || json.isClaimable === true)
  t.true(answers.every(({ status }) => [200, 429].includes(status)))
  const after = await claimable(claim)
  t.deepEqual([after.status, after.json], [200, { isClaimable: true, claimID: claim }])
  t.deepEqual((await admin('GET', '/orgs/claim/')).json, { isClaimable: true, claimID: claim })

  t.is((await admin('PATCH', `/orgs/claim/${claim}`, { body: { organization: 'nobody-has-this' } })).status, 422)
  const takes = await Promise.all(
    Array.from({ length: 5 }, () => admin('PATCH', `/orgs/claim/${claim}`, { body: { organization: org } })),
  )
  t.deepEqual(takes.map(({ status }) => status).sort(), [200, 409, 409, 409, 409])
  const taken = takes.find(({ status }) => status === 200)?.json
  t.is(taken.organization, org)
  const contract = await contractOf(service, taken.contractIDs[0] as ContractId)
  t.deepEqual([contract?.ownerName, contract?.product], [org, 'database'])
  t.is((await claimable(claim)).status, 409)
  t.is((await claimable('d'.repeat(32))).status, 404)
  t.is((await claimable('not-a-claim')).status, 404)
  t.is((await admin('PATCH', `/orgs/claim/${'d'.repeat(32)}`)).status, 404)
})

const run = async (...words: readonly string[]): Promise<{ code: number; out: string; said: string }> => {
  const [out, said]: [string[], string[]] = [[], []]
  const code = await runCommandLine(words, {
    environment: {
      MOORAGE_DATABASE_URL: service.databaseUrl,
      MOORAGE_DATA_DIR: folder,
      MOORAGE_DEPLOYMENT_TYPE: 'CloudCMarketplaceDeployment',
      MOORAGE_BASE_URL: service.baseUrl,
      MOORAGE_MARKETPLACE_BASE_URL: service.running.marketplaceUrl,
    },
    print: (text) => void out.push(text),
    say: (text) => void said.push(text),
  })
  return { code, out: out.join('\n'), said: said.join('\n') }
}

const filesOf = async (archive: Uint8Array): Promise<ReadonlyMap<string, Buffer>> => {
  const files = new Map<string, Buffer>()
  const unpacked = extract()
  unpacked.end(gunzipSync(archive))
  for await (const entry of unpacked) files.set(entry.header.name, await buffer(entry))
  return files
}

test('the operator creates an installer with a signed archive', async (t) => {
  const values = join(folder, 'values.yaml')
  writeFileSync(values, 'replicas: 2\nmarketplace: overwritten\n')
  const create = ['marketplace', 'installers', 'create', '--account', org, '--product', 'database=db-basic,db-backup']
  const chart = ['--chart', 'oci://charts.example/product', '--chart-version', '1.2.3', '--values', values]
  const made = await run(...create, ...chart, '--contact', 'ops@example.com', '--json')
  t.is(made.code, 0, made.said)
  const { installerId, claimID, notificationUrl } = JSON.parse(made.out) as Readonly<Record<string, string>>
  const bind = notification(bindOf({ marketplace: 'CloudC', ref: installerId ?? '' }))
  const sent = await fetch(`${notificationUrl}?secret=${secretOf}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(bind),
  })
  t.is(sent.status, 200, 'the address of the installer is that of the listener')
  const json = (await sent.json()) as { link: string }
  const files = await filesOf(new Uint8Array(await (await fetch(json.link)).arrayBuffer()))
  t.deepEqual([...files.keys()].sort(), [
    'installer/README.txt',
    'installer/SHA256SUMS',
    'installer/SHA256SUMS.sig',
    'installer/install.sh',
    'installer/values.yaml',
    'installer/verify.sh',
  ])
  const file = (name: string): Buffer => files.get(`installer/${name}`) ?? Buffer.alloc(0)
  const yaml = load(file('values.yaml').toString(), { schema: CORE_SCHEMA }) as Record<string, Record<string, unknown>>
  t.is(yaml['replicas'] as unknown, 2)
  t.deepEqual(yaml['marketplace']?.['products'], [{ product: 'database', features: ['db-basic', 'db-backup'] }])
  t.deepEqual([yaml['marketplace']?.['installerId'], yaml['marketplace']?.['claimID']], [installerId, claimID])
  t.is((await fetch(String(yaml['marketplace']?.['claimableURL']))).status, 200)

  const key = await run('marketplace', 'signing-key')
  t.is(key.code, 0, key.said)
  t.true(verify(null, file('SHA256SUMS'), createPublicKey(key.out), file('SHA256SUMS.sig')))
  const place = join(folder, 'unpacked')
  execFileSync('mkdir', ['-p', place])
  for (const [name, bytes] of files) writeFileSync(join(place, name.slice('installer/'.length)), bytes)
  // A helm that says what it is asked.
  writeFileSync(join(place, 'helm'), '#!/bin/sh\necho "$@"\n')
  for (const name of ['helm', 'install.sh', 'verify.sh']) chmodSync(join(place, name), 0o755)
  const asked = execFileSync(join(place, 'install.sh'), ['--set', 'admin=root'], {
    env: { PATH: `${place}:${process.env['PATH'] ?? ''}` },
  })
  t.regex(
    asked.toString(),
    /^upgrade --install \S+ oci:\/\/charts\.example\/product .*--values values\.yaml --wait --set admin=root --version 1\.2\.3\n$/,
  )
})

test('an invalid installer is explained, and nothing is created', async (t) => {
  const before = (await run('marketplace', 'installers', 'list', '--json')).out
  const wrong = [
    ['--account', 'nobody-has-this'],
    ['--product', 'Not A Product=x'],
    ['--product', 'database'],
    ['--days', '0'],
    ['--days', 'many'],
    ['--valid-days', '100000'],
    ['--contact', 'nowhere'],
    ['--chart', '--post-renderer=x'],
    ['--values', join(folder, 'absent.yaml')],
  ]
  for (const words of wrong) {
    const { code, said } = await run('marketplace', 'installers', 'create', ...words)
    t.is(code, 1, words.join(' '))
    t.not(said, '')
  }
  t.is((await run('marketplace', 'installers', 'list', '--json')).out, before)
})

test('the operator lists, shows and revokes subscriptions', async (t) => {
  const installer = await service.createInstaller()
  const clusterId = randomUUID()
  await notify(notification(bindOf(installer, { clusterId })))
  const listed = await run('marketplace', 'subscriptions', 'list', '--json')
  const own = (JSON.parse(listed.out) as Record<string, string>[]).find((each) => each['clusterId'] === clusterId)
  const id = own?.['subscriptionId'] ?? ''
  t.is(own?.['state'], 'Bounded')
  const shown = await run('marketplace', 'subscriptions', 'show', id)
  t.is(shown.code, 0)
  t.regex(shown.out, /BIND ENTITLEMENT_ACTIVE +Bounded/)
  t.is((await run('marketplace', 'subscriptions', 'revoke', id)).code, 0)
  t.is((await service.running.container.resolve(SubscriptionStorePort).find('CloudC', id))?.state, 'Revoked')
  t.is((await run('marketplace', 'subscriptions', 'show', randomUUID())).code, 1)
  t.regex((await run('marketplace', 'installers', 'list')).out, new RegExp(`${installer.ref} +Bound +${clusterId}`))
})
