import test from 'ava'
import { startFakeApi } from '../../support/fake-api.ts'
import { startService } from '../../support/service.ts'
import { chartOf } from '../chart-archive.ts'
import { chartSource, importedAs, packageClient, startCharts } from '../package-world.ts'
import { recordObject } from '../reads/records.ts'

for (const setting of ['off', '/nowhere/helm']) {
  test(`without a helm (${setting}) releases are read, and what needs one says how to get it`, async (t) => {
    const api = await startFakeApi()
    const { charts, settings } = await startCharts(await chartOf('minimal'))
    const service = await startService({ settings: { ...settings, MOORAGE_HELM: setting } })
    t.teardown(async () => {
      await service.stop()
      await charts.stop()
      await api.stop()
    })
    api.put(await recordObject('Secret', { name: 'web', namespace: 'default', version: 1 }))
    const client = packageClient(service.send, service.adminToken, await importedAs(service.send, service.adminToken, 'admin', api.kubeconfig()))
    const list = await client.send('GET', '/v3/releases/')
    t.is(list.status, 200)
    t.like(list.json, [{ name: 'web', version: 1 }])
    const source = chartSource(charts, 'minimal')
    t.is((await client.send('GET', `/packageview?${new URLSearchParams(source).toString()}`)).status, 200)
    const before = api.calls.length
    const answer = await client.send('POST', '/v3/releases/', { ...source, releaseName: 'other', namespace: 'default' })
    const words = answer.status === 200 ? await client.follow((answer.json as { id: string }).id) : { state: 'failed', error: answer.text }
    t.is(words.state, 'failed')
    t.regex(words.error ?? '', /moorage helm install/)
    t.deepEqual(api.calls.slice(before).filter(({ verb, resource }) => ['create', 'patch', 'update', 'delete'].includes(verb) && resource !== '').map(({ url }) => url), [])
  })
}
