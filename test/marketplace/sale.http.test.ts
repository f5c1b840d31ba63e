// process: own - runs programs
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { makePeople } from '../clusters/cluster-fixture.ts'
import { addAuthority, openssl } from '../contracts/license-tools.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import type { MarketService } from './market-service.ts'
import { bindOf, secretOf, startMarket } from './market-service.ts'

let market: MarketService
let buyer: string
let org: string
const folder = mkdtempSync(join(tmpdir(), 'moorage-sale-'))
test.before(async () => {
  market = await startMarket('C')
  const people = makePeople(market)
  const owner = await people.person('buyer')
  buyer = owner.token
  org = await people.organization(owner)
  await addAuthority(market, { organization: 'Vendor' })
})
test.after.always(async () => {
  await market?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const send = (method: string, path: string, token: string | undefined, body?: unknown): Promise<ServiceAnswer> =>
  market.send(method, `/api/v1${path}`, {
    ...(token === undefined ? {} : { token }),
    ...(body === undefined ? {} : { body }),
  })

const fileOf = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

test('a sale yields a license that openssl accepts until its revocation', async (t) => {
  const product = { product: 'db', features: ['backup'] }
  const installer = await market.createInstaller({ account: org, products: [product] })
  const binding = bindOf(installer)
  const bound = await market.sendTo('POST', `/marketplaces/cloudC/notification/resource?secret=${secretOf}`, {
    body: { eventType: 'ACTIVE', eventTime: new Date().toISOString(), bindingInfo: binding },
  })
  t.is(bound.status, 200, bound.text)
  const listed = await send('GET', `/contracts?org=${org}`, market.adminToken)
  t.is(listed.status, 200, listed.text)
  const [contract, ...others] = listed.json as readonly { readonly id: number; readonly product: string }[]
  t.deepEqual([contract?.product, others], ['db', []])
  const clusters = await send('GET', `/contracts/${contract!.id}/clusters`, market.adminToken)
  const [cluster] = clusters.json as readonly { readonly id: number; readonly cluster: string }[]
  t.is(cluster?.cluster, binding.clusterId, clusters.text)
  const path = `/contracts/${contract!.id}/clusters/${cluster!.id}/issue-license`
  t.is((await send('POST', path, buyer)).status, 403)
  t.is((await send('POST', path, market.adminToken)).status, 405)
  const allowed = await send('PUT', `/contracts/${contract!.id}`, market.adminToken, { allowOffline: true })
  t.is(allowed.status, 200, allowed.text)
  const issued = [
    await send('POST', path, market.adminToken),
    // What runs in the cluster of the buyer asks for itself.
    await send('POST', '/license/issue', buyer, { cluster: binding.clusterId, features: ['backup'] }),
  ]
  const ca = fileOf('ca.pem', (await send('GET', '/licenses/ca.pem', undefined)).text)
  const licenses = issued.map(({ status, json, text }, index) => {
    t.is(status, 200, text)
    const { license } = json as { readonly license: string }
    return fileOf(`license-${index}.pem`, Buffer.from(license, 'base64').toString())
  })
  for (const license of licenses)
    t.regex(
      openssl(
        'verify',
        '-x509_strict',
        '-CAfile',
        ca,
        '-purpose',
        'sslclient',
        '-verify_hostname',
        binding.clusterId,
        license,
      ),
      /OK\n$/,
    )
  const [sold] = (await send('GET', '/dashboard/marketplaces/subscriptions', market.adminToken)).json as readonly {
    readonly subscriptionId: string
  }[]
  t.is((await send('DELETE', `/dashboard/marketplaces/CloudC/${sold!.subscriptionId}`, market.adminToken)).status, 200)
  const list = fileOf('crl.pem', (await send('GET', '/licenses/crl.pem', undefined)).text)
  for (const license of licenses)
    t.regex(openssl('verify', '-crl_check', '-CAfile', ca, '-CRLfile', list, license), /certificate revoked/)
})

test('the routes of contract owners do not exist on marketplace deployments', async (t) => {
  for (const path of [
    '/user/contracts',
    '/user/contracts/1',
    '/user/contracts/1/clusters',
    '/user/contracts/1/document',
  ])
    t.is((await send('GET', path, buyer)).status, 404, path)
  t.is((await send('POST', '/user/contracts/1/clusters/1/issue-license', buyer)).status, 404)
})
