// process: own - breaks what a service needs
import type { ExecutionContext } from 'ava'
import { setTimeout as sleep } from 'node:timers/promises'
import { openDatabase } from '../../../adapters/sql/engine/database.ts'
import { helm } from '../../support/components/available.ts'
import { needing } from '../../support/components/needing.ts'
import { migratedMysqlUrl } from '../../support/databases.ts'
import { startFakeApi } from '../../support/fake-api.ts'
import { startFaultProxy } from '../../support/fault-proxy.ts'
import { startService } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { chartOf } from '../chart-archive.ts'
import { untilObject } from '../life-cycle.fixture.ts'
import { chartSource } from '../chart-source.ts'
import { importedAs, packageClient, startCharts } from '../package-fixture.ts'

const test = needing('helm', 'mariadb')

/** A service whose way to its MariaDB can be broken, with a cluster and a chart. */
const startLinked = async (t: ExecutionContext) => {
  const url = new URL(await migratedMysqlUrl())
  const direct = await openDatabase(url.href)
  const link = await startFaultProxy({ host: url.hostname, port: Number(url.port) })
  url.port = String(link.port)
  const api = await startFakeApi()
  api.put({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } })
  const { charts, settings } = await startCharts(await chartOf('harbour'))
  const service = await startService({
    settings: {
      ...settings,
      MOORAGE_DATABASE_URL: url.href,
      MOORAGE_DATABASE_TIMEOUT_SECONDS: '5',
      MOORAGE_HELM: (await helm())!.helm4,
    },
  })
  t.teardown(async () => {
    link.resume()
    await service.stop()
    await direct.close()
    await link.close()
    await charts.stop()
    await api.stop()
  })
  const client = packageClient(
    service.send,
    service.adminToken,
    await importedAs(service.send, service.adminToken, 'admin', api.kubeconfig()),
  )
  const installing = async (): Promise<string> => {
    const id = await client.accepted('POST', '/v3/releases/', {
      ...chartSource(charts, 'harbour'),
      releaseName: 'web',
      namespace: 'shop',
      timeout: '100s',
    })
    return id
  }
  const object = async (path: string): Promise<unknown> => {
    const answer = await api.request('GET', path)
    return answer.status === 200 ? answer.body : undefined
  }
  const answers = (): Promise<unknown> =>
    until('the service answers again', async () =>
      (await service.send('GET', '/api/v1/user', { token: service.adminToken })).status === 200 ? true : undefined,
    )
  return { api, link, client, installing, object, answers }
}

const hook = '/apis/batch/v1/namespaces/shop/jobs/web-pre-install'

const faults = {
  'is cut off': (link: { cut(): void; pause(): void }) => {
    link.cut()
    link.pause()
  },
  'hears, and is not heard': (link: { dropResponses(): void }) => link.dropResponses(),
}

for (const [what, fault] of Object.entries(faults)) {
  test.serial(`a database that ${what} during helm's work reports its end once`, async (t) => {
    const { api, link, client, installing, object, answers } = await startLinked(t)
    const hold = api.rules.hold({ verb: ['create', 'patch'], resource: 'services', name: /^(web|)$/ })
    const id = await installing()
    await untilObject({ object }, hook)
    fault(link)
    await sleep(1500)
    hold.release()
    await sleep(2500)
    link.resume()
    await answers()
    const task = await client.follow(id)
    t.is(task.state, 'succeeded', `${task.message} ${task.error}`)
    t.deepEqual(
      task.events.map(({ seq }) => seq),
      task.events.map((_, index) => index + 1),
    )
    t.is(task.events.at(-1)?.id, id)
    t.is(task.events.filter((event) => event.id === id && event.status === 'Success').length, 1)
    t.is(task.events.filter((event) => event.id === id && event.status === 'Started').length, 1)
    const told = task.events.map(({ id: step, status, msg }) => `${step} ${status} ${msg}`)
    t.deepEqual(
      told.filter((line, index) => told.indexOf(line) !== index),
      [],
      'no event is published twice',
    )
    t.is(
      api.calls.filter(({ resource, verb }) => resource === 'jobs' && (verb === 'create' || verb === 'patch')).length,
      2,
      'each hook once',
    )
  })
}
