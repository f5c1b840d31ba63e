import { randomUUID } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { certificatesIn, readLicense } from '../../adapters/licenses/license-signer.ts'
import { AuthorityStorePort, LicenseStorePort } from '../../core/contracts/ports.ts'
import { parseProducts } from '../../core/contracts/contract-rules.ts'
import { expectStatus, makePeople, type Person } from '../clusters/cluster-fixture.ts'
import { plantLicenseAuthority } from '../support/plant-license-authority.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import { startService, type TestService } from '../support/service.ts'

/**
 * What a vendor does beside creating contracts by JSON: forms with documents, products, single licenses, and values of
 * a license proxy.
 */

const nowSeconds = Math.floor(Date.now() / 1000)
const day = 86_400
const folder = mkdtempSync(join(tmpdir(), 'moorage-vendor-'))
const documents = join(folder, 'documents')
const pdf = (text: string): Buffer => Buffer.from(`%PDF-1.7\n${text}\n%%EOF\n`)
let service: TestService
let owner: Person
let stranger: Person
let org: string

test.before(async () => {
  const products = join(folder, 'products.json')
  writeFileSync(
    products,
    JSON.stringify({ database: { DisplayName: 'Database', Features: ['db-basic'] }, 'cache.v2': {} }),
  )
  service = await startService({
    settings: {
      MOORAGE_DEPLOYMENT_TYPE: 'VendorHosted',
      MOORAGE_CONTRACT_PRODUCTS: products,
      MOORAGE_CONTRACT_DOCUMENTS: `folder:${documents}`,
    },
  })
  const people = makePeople(service)
  owner = await people.person('owner')
  stranger = await people.person('stranger')
  org = await people.organization(owner)
  await plantLicenseAuthority(service)
})
test.after.always(async () => {
  await service?.stop()
  rmSync(folder, { recursive: true })
})

const admin = (method: string, path: string, body?: unknown): Promise<ServiceAnswer> =>
  service.send(method, `/api/v1/contracts${path}`, {
    token: service.adminToken,
    ...(body === undefined ? {} : { body }),
  })
const terms = {
  orgOrUser: '',
  name: 'Sold',
  products: ['database'],
  features: ['db-basic'],
  start: nowSeconds - day,
  end: nowSeconds + 90 * day,
  allowOffline: true,
}

interface ContractWire {
  readonly id: number
  readonly product: string
  readonly hasDocument: boolean
  readonly features: readonly string[]
  readonly quota: { readonly limit: number }
}
const create = async (changes: Readonly<Record<string, unknown>> = {}): Promise<ContractWire> =>
  ((await expectStatus(admin('POST', '', { ...terms, orgOrUser: org, ...changes }), 201)).json as [ContractWire])[0]
/** Returns the id of the bound cluster. */
const bind = async (id: number, uid: string): Promise<number> => {
  const bound = (await expectStatus(admin('POST', `/${id}/clusters`, [{ cluster: uid }]), 201)).json as {
    id: number
    cluster: string
  }[]
  return bound.find(({ cluster }) => cluster === uid)?.id ?? 0
}

const sendForm = async (
  method: string,
  path: string,
  fields: Readonly<Record<string, unknown>>,
  file?: Buffer,
): Promise<{ status: number; text: string; json: () => unknown }> => {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields))
    form.set(name, typeof value === 'string' ? value : JSON.stringify(value))
  if (file !== undefined) form.set('document', new Blob([new Uint8Array(file)]), 'ignored.exe')
  const answer = await fetch(`${service.baseUrl}/api/v1/contracts${path}`, {
    method,
    headers: { authorization: `token ${service.adminToken}` },
    body: form,
  })
  const text = await answer.text()
  return { status: answer.status, text, json: () => JSON.parse(text) as unknown }
}
const download = async (id: number): Promise<Buffer> => {
  const link = (await expectStatus(admin('GET', `/${id}/document`), 200)).json as unknown as string
  return Buffer.from(await (await fetch(link)).arrayBuffer())
}

test.serial('a form creates a contract for each product, each with a copy of the document', async (t) => {
  // They begin later, so that they can be deleted.
  const fields = {
    ...terms,
    start: nowSeconds + day,
    orgOrUser: org,
    products: ['database', 'cache'],
    quota: { limit: 5 },
    fileName: 'signed.pdf',
  }
  const made = await sendForm('POST', '', fields, pdf('both'))
  t.is(made.status, 201, made.text)
  const [first, second] = made.json() as [ContractWire, ContractWire]
  t.like(first, { product: 'database', hasDocument: true, features: ['db-basic'], quota: { limit: 5 } })
  t.like(second, { product: 'cache', hasDocument: true })
  t.is(readdirSync(documents).length, 2)
  await expectStatus(admin('DELETE', `/${first.id}`), 200)
  t.deepEqual(await download(second.id), pdf('both'))
  const changed = await sendForm(
    'PUT',
    `/${second.id}`,
    { name: 'Renamed', allowOffline: false, document: 'ignored' },
    undefined,
  )
  t.is(changed.status, 422, 'a text is no document')
  t.is((await sendForm('PUT', `/${second.id}`, { name: 'Renamed', allowOffline: false }, pdf('new'))).status, 200)
  t.deepEqual(await download(second.id), pdf('new'))
  t.is(readdirSync(documents).length, 1)
  await expectStatus(admin('DELETE', `/${second.id}`), 200)
  t.deepEqual(readdirSync(documents), [])
})

test.serial('a form or body that is refused creates nothing and stores nothing', async (t) => {
  const listed = async () =>
    (
      await expectStatus(
        service.send('GET', `/api/v1/contracts?org=${org}&limit=50`, { token: service.adminToken }),
        200,
      )
    ).text
  const before = await listed()
  const fields = { ...terms, orgOrUser: org }
  for (const bad of [
    { products: 'database' },
    { products: ['UPPER'] },
    { start: 'yesterday' },
    { end: 1 },
    { allowOffline: 'maybe' },
    { quota: '{' },
    { orgOrUser: 'nowhere' },
    { features: '["a"],"name":"injected"' },
  ]) {
    const answer = await sendForm('POST', '', { ...fields, ...bad }, pdf('refused'))
    t.is(answer.status, 422, `${JSON.stringify(bad)}: ${answer.text}`)
  }
  for (const [document, status] of [
    ['<html>', 422],
    ['', 422],
  ] as const)
    t.is((await sendForm('POST', '', fields, Buffer.from(document))).status, status)
  t.is(await listed(), before)
  t.deepEqual(readdirSync(documents), [])
})

test.serial('removing a document ends its links and is in its history', async (t) => {
  const { id } = await create({ document: pdf('old').toString('base64') })
  const link = (await expectStatus(admin('GET', `/${id}/document`), 200)).json as unknown as string
  await expectStatus(admin('DELETE', `/${id}/document`), 200)
  t.is((await fetch(link)).status, 403)
  await expectStatus(admin('GET', `/${id}/document`), 404)
  await expectStatus(admin('DELETE', `/${id}/document`), 404)
  await expectStatus(admin('DELETE', '/999999/document'), 404)
  await expectStatus(service.send('DELETE', `/api/v1/contracts/${id}/document`, { token: owner.token }), 403)
  const events = (await expectStatus(admin('GET', `/${id}/audit`), 200)).json as { event: string }[]
  t.is(events.at(-1)?.event, 'document.removed')
  t.deepEqual(readdirSync(documents), [])
})

test('the products of the file are listed with their defaults, to site admins only', async (t) => {
  const listed = await expectStatus(admin('GET', '/available_products'), 200)
  t.deepEqual(listed.json, {
    database: {
      DisplayName: 'Database',
      ProductLine: 'database',
      TierName: 'enterprise',
      TwitterHandle: '',
      QuickstartLink: '',
      Features: ['db-basic'],
      MailingLists: [],
    },
    'cache.v2': {
      DisplayName: 'cache.v2',
      ProductLine: 'cache.v2',
      TierName: 'enterprise',
      TwitterHandle: '',
      QuickstartLink: '',
      Features: [],
      MailingLists: [],
    },
  })
  await expectStatus(service.send('GET', '/api/v1/contracts/available_products', { token: owner.token }), 403)
})

test('an invalid product file stops the start with the reason', async (t) => {
  for (const bad of [
    '',
    '[]',
    '{"A": {}}',
    '{"a": 1}',
    '{"a": {"Unknown": ""}}',
    '{"a": {"Features": "x"}}',
    '{"a": {"Features": ["X"]}}',
    '{"a": {"DisplayName": 1}}',
    '{"a": {}, "a": {}}',
  ])
    t.true(isLeft(parseProducts(bad)), bad)
  const name = fc.stringMatching(/^[a-z0-9]{1,64}$/)
  fc.assert(
    fc.property(
      fc.dictionary(name, fc.record({ DisplayName: fc.string(), Features: fc.array(name) }, { requiredKeys: [] })),
      (products) => isRight(parseProducts(JSON.stringify(products))),
    ),
  )
  for (const [text, said] of [
    ['{"A": {}}', /the product A must be/],
    [undefined, /cannot be read/],
  ] as const) {
    const file = join(folder, `products-${randomUUID()}.json`)
    if (text !== undefined) writeFileSync(file, text)
    await t.throwsAsync(
      startService({ settings: { MOORAGE_DEPLOYMENT_TYPE: 'VendorHosted', MOORAGE_CONTRACT_PRODUCTS: file } }),
      { message: said },
    )
  }
})

test('revoking one license keeps the contract and its other licenses', async (t) => {
  const { id } = await create()
  const other = await create()
  const uid = randomUUID()
  const [ccId, keptCc] = [await bind(id, uid), await bind(id, randomUUID())]
  const serialOf = async (cc: number): Promise<string> => {
    const { json } = await expectStatus(admin('POST', `/${id}/clusters/${cc}/issue-license`), 200)
    return readLicense(Buffer.from(json.license as string, 'base64').toString(), [], undefined).serial
  }
  const [serial, keptSerial] = [await serialOf(ccId), await serialOf(keptCc)]
  const revoke = (contract: number, of: string, token = service.adminToken) =>
    service.send('POST', `/api/v1/contracts/${contract}/licenses/${of}/revoke`, { token })
  await expectStatus(revoke(other.id, serial), 404)
  await expectStatus(revoke(id, '1'), 404)
  await expectStatus(revoke(id, 'x'), 404)
  await expectStatus(revoke(id, serial, owner.token), 403)
  await expectStatus(revoke(id, serial), 200)
  await expectStatus(revoke(id, serial), 404)
  const listed = (await expectStatus(admin('GET', `/${id}/licenses`), 200)).json as {
    serial: string
    cluster: string
    revokedAt?: string
  }[]
  t.deepEqual(
    listed.map((each) => [each.serial, each.revokedAt === undefined]),
    [
      [keptSerial, true],
      [serial, false],
    ],
  )
  t.is(listed[1]?.cluster, uid)
  await expectStatus(service.send('GET', `/api/v1/contracts/${id}/licenses`, { token: owner.token }), 403)
  const { resolve } = service.running.container
  const [authority] = await resolve(AuthorityStorePort).list()
  const revoked = await resolve(LicenseStorePort).listRevoked(authority?.id ?? 0, new Date(), 1000)
  t.true(revoked.some((each) => each.serial === serial) && !revoked.some((each) => each.serial === keptSerial))
  t.is(await serialOf(keptCc), keptSerial)
  t.not(await serialOf(ccId), serial)
  const events = (await expectStatus(admin('GET', `/${id}/audit`), 200)).json as { event: string }[]
  t.is(events.filter(({ event }) => event === 'license.revoked').length, 1)
})

test('license proxy values have a license of each contract or are refused', async (t) => {
  const cluster = randomUUID()
  const [first, second, online, unbound] = [
    await create(),
    await create({ products: ['cache'] }),
    await create({ allowOffline: false }),
    await create(),
  ]
  for (const { id } of [first, second, online]) await bind(id, cluster)
  const ask = (
    contractIDs: readonly unknown[],
    as = owner,
    account = org,
    clusterID: unknown = cluster.toUpperCase(),
  ) =>
    service.send('POST', `/api/v1/user/license-proxy?org=${account}`, {
      token: as.token,
      body: { clusterID, contractIDs },
    })
  const { encodedLicenses } = (await expectStatus(ask([first.id, second.id, first.id]), 200)).json as {
    encodedLicenses: Record<string, string>
  }
  t.deepEqual(Object.keys(encodedLicenses), [`database-${first.id}`, `cache-${second.id}`])
  const ca = certificatesIn((await service.send('GET', '/api/v1/licenses/ca.pem')).text)
  for (const license of Object.values(encodedLicenses))
    t.like(readLicense(Buffer.from(license, 'base64').toString(), ca, cluster), {
      isTrusted: true,
      matchesCluster: true,
    })
  t.deepEqual(
    (await expectStatus(ask([second.id, first.id]), 200)).json.encodedLicenses,
    encodedLicenses,
    'the same licenses again',
  )
  const licenses = async () => (await expectStatus(admin('GET', `/${first.id}/licenses`), 200)).text
  const before = await licenses()
  for (const ids of [[online.id], [unbound.id], [999_999], [first.id, unbound.id], []])
    t.is((await ask(ids)).status, 422, JSON.stringify(ids))
  for (const uid of ['no-uid', randomUUID(), '']) t.is((await ask([first.id], owner, org, uid)).status, 422, uid)
  await expectStatus(ask([first.id], stranger), 403)
  t.is((await ask([first.id], stranger, stranger.login)).status, 422)
  t.is(await licenses(), before)
})
