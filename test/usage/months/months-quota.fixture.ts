import { randomUUID } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import type { SqlDatabase } from '../../../adapters/sql/kit/statement.ts'
import { operatorCall } from '../../../composition/part/operator.ts'
import { makeAddAuthority } from '../../../core/contracts/authorities.ts'
import { AuthorityStorePort, ContractUnitOfWorkPort, LicenseSignerPort } from '../../../core/contracts/ports.ts'
import { ClockPort } from '../../../core/kernel/clock.ts'
import { EntropyPort, SecretBoxPort } from '../../../core/kernel/secret.ts'
import { ConsumptionUnitOfWorkPort, makeUpdateConsumption } from '../../../core/usage/months/consumption.ts'
import { ConsumptionStorePort, UsageInputsPort } from '../../../core/usage/months/ports.ts'
import { expectStatus, makePeople, type Person } from '../../clusters/cluster-fixture.ts'
import { migratedSqlitePath, openPatiently } from '../../support/databases.ts'
import { unwrap } from '../../support/outcome.ts'
import type { ServiceAnswer } from '../../support/send-json.ts'
import { startService, type TestService } from '../../support/service.ts'
import { until } from '../../support/until.ts'

/** Usage that is reported over HTTP, what it does to the licenses of a contract, and the commands on months. */

export const nowSeconds = Math.floor(Date.now() / 1000)
export const day = 86_400
export let service: TestService
export let database: SqlDatabase
export let owner: Person
export let org: string
/** Of a robot account whose team may report usage. */
let meter: string
let folder: string
export let environment: Readonly<
  Record<'MOORAGE_DATABASE_URL' | 'MOORAGE_DATA_DIR' | 'MOORAGE_DEPLOYMENT_TYPE' | 'MOORAGE_BILLING_ENABLED', string>
>

test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'moorage-quota-'))
  environment = {
    MOORAGE_DATABASE_URL: `sqlite:${await migratedSqlitePath()}`,
    MOORAGE_DATA_DIR: folder,
    MOORAGE_DEPLOYMENT_TYPE: 'VendorHosted',
    MOORAGE_BILLING_ENABLED: 'true',
  }
  service = await startService({ settings: environment })
  database = await openPatiently(environment.MOORAGE_DATABASE_URL)
  const people = makePeople(service)
  owner = await people.person('owner')
  org = await people.organization(owner)
  const { teamId } = await people.teamWithRole(owner, org, [], [{ namespace: 'usage_mgmt', action: 'report usage' }])
  const robots = `/api/v1/orgs/${org}/robots`
  await expectStatus(
    service.send('POST', robots, { token: owner.token, body: { name: 'meter', team_ids: [teamId] } }),
    201,
  )
  meter = (
    (
      await expectStatus(
        service.send('POST', `${robots}/meter/tokens`, {
          token: owner.token,
          body: { name: 'cluster', scopes: ['write:billing'] },
        }),
        201,
      )
    ).json as { sha1: string }
  ).sha1
  const { resolve } = service.running.container
  const add = makeAddAuthority({
    authorities: resolve(AuthorityStorePort),
    clock: resolve(ClockPort),
    entropy: resolve(EntropyPort),
    secretBox: resolve(SecretBoxPort),
    signer: resolve(LicenseSignerPort),
    unitOfWork: resolve(ContractUnitOfWorkPort),
  })
  unwrap(await add(operatorCall('licenses.init'), { organization: 'Vendor', own: undefined, rotate: false }))
})
test.after.always(async () => {
  await database?.close()
  await service?.stop()
  rmSync(folder, { recursive: true, force: true })
})

export const admin = (method: string, path: string, body?: unknown): Promise<ServiceAnswer> =>
  service.send(method, path, { token: service.adminToken, body })
export const iso = (seconds: number): string => new Date(seconds * 1000).toISOString()

/** A contract with a bound cluster, for which it has counted for an hour. */
export const bound = async (quota: Readonly<Record<string, unknown>>) => {
  const emails = {
    usageAlertClient: ['team@example.com', 'both@example.com'],
    usageAlertAdmin: ['sales@example.com', 'both@example.com'],
  }
  const terms = {
    orgOrUser: org,
    name: 'Databases',
    products: ['database'],
    features: ['database-enterprise'],
    start: nowSeconds - 90 * day,
    end: nowSeconds + 90 * day,
    allowOffline: true,
    emails,
    quota,
  }
  const [{ id }] = (await expectStatus(admin('POST', '/api/v1/contracts', terms), 201)).json as [{ id: number }]
  const uid = randomUUID()
  const [{ id: ccId }] = (
    await expectStatus(admin('POST', `/api/v1/contracts/${id}/clusters`, [{ cluster: uid }]), 201)
  ).json as [{ id: number }]
  await database.query((k) =>
    k('contract_cluster_intervals')
      .where('contract_id', id)
      .update({ bound_from: (nowSeconds - 80 * day) * 1000 }),
  )
  return { id, uid, ccId }
}

export const namespaceUID = randomUUID()
export const object = (uid: string, seconds: number, milliCPU: number) => ({
  id: randomUUID(),
  type: 'object.created',
  time: iso(seconds),
  product: 'dbProduct',
  group: 'kubedb.example',
  kind: 'Postgres',
  uid,
  namespace: 'shop',
  namespaceUID,
  name: 'orders',
  generation: 1,
  createdAt: iso(seconds),
  trial: false,
  milliCPU,
  memoryMiB: 1024,
  replicas: 1,
})
export const heard = (seconds: number) => ({ id: randomUUID(), type: 'cluster.heartbeat', time: iso(seconds) })
export const report = async (clusterUID: string, events: readonly unknown[]): Promise<void> => {
  const { json } = await expectStatus(
    service.send('POST', `/api/v1/usage/${org}/events`, { token: meter, body: { clusterUID, events } }),
    200,
  )
  const results = json.results as readonly { readonly result: string }[]
  if (results.some(({ result }) => result !== 'accepted')) throw new Error(JSON.stringify(results))
}

export const updateConsumption = () => {
  const { resolve } = service.running.container
  const update = makeUpdateConsumption({
    clock: resolve(ClockPort),
    consumption: resolve(ConsumptionStorePort),
    inputs: resolve(UsageInputsPort),
    unitOfWork: resolve(ConsumptionUnitOfWorkPort),
  })
  return update(operatorCall('usage.updateConsumption'))
}
export const issue = ({ id, ccId }: { readonly id: number; readonly ccId: number }): Promise<ServiceAnswer> =>
  service.send('POST', `/api/v1/user/contracts/${id}/clusters/${ccId}/issue-license?org=${org}`, { token: owner.token })
export const alerts = async (id: number): Promise<readonly number[]> =>
  (
    await database.query<{ readonly threshold: number }>((k) =>
      k('usage_alerts').where('contract_id', id).orderBy('threshold').select('threshold'),
    )
  ).map(({ threshold }) => threshold)
/** Returns how many mails were sent. A row is removed when its mail is sent. */
export const mails = async (): Promise<number> => {
  const waiting = async () => (await database.query((k) => k('mail_outbox').select('id'))).length
  await until('all mails are sent', async () => ((await waiting()) === 0 ? true : undefined))
  const sent = join(folder, 'mail')
  return existsSync(sent) ? readdirSync(sent).filter((name) => name.endsWith('.eml')).length : 0
}

export const quota = {
  enabled: true,
  metric: 'cpu_core_month',
  limit: 1,
  alertThresholds: [50, 100, 500],
  disableLicenseOnLimitReached: true,
}
