import { randomUUID } from 'node:crypto'
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { certificatesIn, readLicense } from '../../adapters/licenses/license-signer.ts'
import { licenseFaults } from '../../core/contracts/licenses.ts'
import { runCommandLine } from '../../composition/moorage.ts'
import { expectStatus, makePeople, type Person } from '../clusters/cluster-fixture.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import { startService, type TestService } from '../support/service.ts'
import { addAuthority } from './license-tools.ts'

/**
 * Those who fetch licenses: programs in clusters, with the token of a robot account, and people at the command line.
 */

const nowSeconds = Math.floor(Date.now() / 1000)
const day = 86_400
const folder = mkdtempSync(join(tmpdir(), 'moorage-license-clients-'))
let service: TestService
let owner: Person
let outsider: Person
let org: string
let machine: string

test.before(async () => {
  service = await startService({ settings: { MOORAGE_DEPLOYMENT_TYPE: 'VendorHosted' } })
  const people = makePeople(service)
  owner = await people.person('owner')
  outsider = await people.person('outsider')
  org = await people.organization(owner)
  const { teamId } = await people.teamWithRole(
    owner,
    org,
    [],
    ['view contracts', 'issue licenses'].map((action) => ({ namespace: 'contract_mgmt', action })),
  )
  const robots = `/api/v1/orgs/${org}/robots`
  await expectStatus(
    service.send('POST', robots, { token: owner.token, body: { name: 'operator', team_ids: [teamId] } }),
    201,
  )
  const made = await expectStatus(
    service.send('POST', `${robots}/operator/tokens`, {
      token: owner.token,
      body: { name: 'cluster', scopes: ['write:contract'] },
    }),
    201,
  )
  machine = made.json.sha1 as string
  await addAuthority(service, { organization: 'Vendor' })
})
test.after.always(async () => {
  rmSync(folder, { recursive: true, force: true })
  await service?.stop()
})

const admin = (method: string, path: string, body?: unknown): Promise<ServiceAnswer> =>
  service.send(method, path, { token: service.adminToken, ...(body === undefined ? {} : { body }) })
const contract = async (uid: string, changes: Readonly<Record<string, unknown>> = {}): Promise<number> => {
  const terms = {
    orgOrUser: org,
    name: 'Machines',
    products: ['db'],
    features: ['db-basic', 'db-backup'],
    start: nowSeconds - day,
    end: nowSeconds + 90 * day,
    allowOffline: true,
    ...changes,
  }
  const [{ id }] = (await expectStatus(admin('POST', '/api/v1/contracts', terms), 201)).json as [{ id: number }]
  await expectStatus(admin('POST', `/api/v1/contracts/${id}/clusters`, [{ cluster: uid }]), 201)
  return id
}
const startLater = (id: number): Promise<ServiceAnswer> =>
  expectStatus(admin('PUT', `/api/v1/contracts/${id}`, { start: nowSeconds + day }), 200)
const ask = (cluster: string, features: readonly string[] = ['db-basic'], token = machine): Promise<ServiceAnswer> =>
  service.send('POST', '/api/v1/license/issue', { token, body: { cluster, features } })
const read = ({ json }: ServiceAnswer) =>
  readLicense(Buffer.from(json.license as string, 'base64').toString(), [], undefined)

test('a program gets a license of 7 days, and the same one when it asks again', async (t) => {
  const uid = randomUUID()
  const id = await contract(uid, { allowOffline: false })
  const first = await expectStatus(ask(uid.toUpperCase(), ['db-basic', 'db-backup']), 200)
  t.is(first.json.contract.id, String(id))
  t.is((await expectStatus(ask(uid), 200)).json.license, first.json.license)
  const { clusterUid, features, notBefore, notAfter } = read(first)
  t.is(clusterUid, uid)
  t.deepEqual(features, ['db-backup', 'db-basic'])
  t.true(notAfter.getTime() - notBefore.getTime() <= (7 * day + 301) * 1000)
  const history = (await expectStatus(admin('GET', `/api/v1/contracts/${id}/audit?limit=50`), 200)).json as {
    event: string
  }[]
  t.is(history.filter(({ event }) => event === 'license.issued').length, 1)
  await expectStatus(admin('PUT', `/api/v1/contracts/${id}`, { features: ['db-basic', 'db-more'] }), 200)
  t.deepEqual(read(await expectStatus(ask(uid), 200)).features, ['db-basic', 'db-more'])
})

test('the fitting contract that ends last issues the license', async (t) => {
  const uid = randomUUID()
  await contract(uid, { end: nowSeconds + 900 * day, features: ['db-other'] })
  const late = await contract(uid, { end: nowSeconds + 2 * day })
  await contract(uid, { end: nowSeconds + day })
  await startLater(await contract(uid, { end: nowSeconds + 800 * day }))
  const answer = await expectStatus(ask(uid), 200)
  t.is(answer.json.contract.id, String(late))
  t.is(read(answer).notAfter.getTime(), (nowSeconds + 2 * day) * 1000)
})

test('foreign clusters, unlicensed features and closed contracts are refused', async (t) => {
  const [uid, revoked, scheduled] = [randomUUID(), randomUUID(), randomUUID()]
  await contract(uid)
  const ended = await contract(revoked)
  await expectStatus(admin('POST', `/api/v1/contracts/${ended}/revoke`), 200)
  await startLater(await contract(scheduled))
  t.deepEqual(
    [await ask(uid, ['db-basic'], outsider.token), await ask(randomUUID())].map(({ status, json }) => [
      status,
      json.message,
    ]),
    [
      [404, 'The cluster is not bound to a contract for which you may issue licenses.'],
      [404, 'The cluster is not bound to a contract for which you may issue licenses.'],
    ],
  )
  t.is((await ask(uid, ['db-basic', 'db-other'])).status, 403)
  t.is((await ask(revoked)).status, 405)
  t.is((await ask(scheduled)).status, 405)
  t.is((await ask('not-a-uid')).status, 422)
  t.is((await ask(uid, [])).status, 422)
  t.is(
    (await service.send('POST', '/api/v1/license/issue', { body: { cluster: uid, features: ['db-basic'] } })).status,
    401,
  )
  const narrow = await service.tokenFor(owner.login, ['read:contract'])
  t.is((await ask(uid, ['db-basic'], narrow)).status, 403)
})

const run = async (words: readonly string[], token = owner.token) => {
  const [out, err]: [string[], string[]] = [[], []]
  const environment = { MOORAGE_SERVER: service.baseUrl, MOORAGE_TOKEN: token }
  const code = await runCommandLine(words, {
    environment,
    print: (text) => void out.push(text),
    say: (text) => void err.push(text),
  })
  return { code, out: out.join('\n'), err: err.join('\n') }
}

test('the command lists contracts, and issues and revokes licenses', async (t) => {
  const uid = randomUUID()
  const id = String(await contract(uid, { name: 'By hand' }))
  const account = ['--account', org]
  t.regex((await run(['contracts', 'list', ...account])).out, new RegExp(`^${id} +active .* By hand$`, 'm'))
  t.regex((await run(['contracts', 'show', id, ...account])).out, new RegExp(`By hand[\\s\\S]*cluster   ${uid}`))
  t.like(JSON.parse((await run(['contracts', 'show', id, '--json', ...account])).out), {
    name: 'By hand',
    clusters: [{ cluster: uid }],
  })

  const printed = await run(['contracts', 'issue', id, '--cluster', uid, ...account])
  const file = join(folder, 'license.pem')
  writeFileSync(file, 'of before, and longer than a license '.repeat(100))
  chmodSync(file, 0o644)
  const written = await run(['contracts', 'issue', id, '--cluster', uid, '--out', file, ...account])
  t.deepEqual([printed.code, written.code, written.out], [0, 0, ''])
  t.is(readFileSync(file, 'utf8').trimEnd(), printed.out)
  t.is(statSync(file).mode & 0o777, 0o600)
  const trusted = certificatesIn((await expectStatus(service.send('GET', '/api/v1/licenses/ca.pem'), 200)).text)
  t.deepEqual(
    licenseFaults(readLicense(printed.out, trusted, uid), {
      now: new Date(),
      feature: 'db-basic',
      revocations: undefined,
    }),
    [],
  )

  t.regex(
    (await run(['contracts', 'issue', id, '--cluster', randomUUID(), ...account])).err,
    /not bound to the contract/,
  )
  t.is((await run(['contracts', 'show', 'x', ...account])).code, 2)
  const foreign = await run(['contracts', 'show', id, ...account], outsider.token)
  t.deepEqual([foreign.code, foreign.out], [1, ''])
  t.is((await run(['contracts', 'licenses', id])).code, 1)
  const serial =
    /^(\d+) +valid +offline .*$/m.exec((await run(['contracts', 'licenses', id], service.adminToken)).out)?.[1] ?? ''
  t.is(serial, readLicense(printed.out, trusted, uid).serial)
  t.is((await run(['contracts', 'revoke', id, '--license', serial])).code, 1)
  t.like(await run(['contracts', 'revoke', id, '--license', serial], service.adminToken), {
    code: 0,
    out: `The license ${serial} is revoked.`,
  })
  t.regex((await run(['contracts', 'licenses', id], service.adminToken)).out, new RegExp(`^${serial} +revoked`))
  t.is((await run(['contracts', 'revoke', id, '--license', serial], service.adminToken)).code, 1)
  t.is((await run(['contracts', 'revoke', id])).code, 1)
  t.like(await run(['contracts', 'revoke', id], service.adminToken), {
    code: 0,
    out: `The contract ${id} and its licenses are revoked.`,
  })
  t.regex((await run(['contracts', 'show', id, ...account])).out, /state {5}revoked/)
  t.is((await run(['contracts', 'issue', id, '--cluster', uid, ...account])).code, 1)
})
