import test from 'ava'
import { expectStatus, importCluster } from '../../clusters/cluster-world.ts'
import { startFakeApi } from '../../support/fake-api.ts'
import { startService } from '../../support/service.ts'
import { packageClient } from '../package-world.ts'
import { recordObject } from '../reads/records.ts'
import { about, configMaps } from './editor-world.ts'

/** A service that may use no helm, and a release that an editor made before. */
const openWorld = async (t: { teardown(end: () => Promise<void>): void }) => {
  const [api, service] = await Promise.all([startFakeApi(), startService({ settings: { MOORAGE_HELM: 'off' } })])
  t.teardown(async () => {
    await service.stop()
    await api.stop()
  })
  const manifest = '---\n# Source: a/b.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: tides\n'
  api.put({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } })
  api.put(await recordObject('Secret', { name: 'tides', namespace: 'shop', version: 1, manifest }))
  api.put({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'tides', namespace: 'shop' }, data: { high: '4.1' } })
  await expectStatus(importCluster(service.send, service.adminToken, 'admin', 'prod', api.kubeconfig()), 200)
  return packageClient(service.send, service.adminToken, 'admin/prod')
}

test('without helm what is installed is shown, and the rest says what is missing', async (t) => {
  const client = await openWorld(t)
  const { json } = await expectStatus(client.send('PUT', '/editor/model', about(configMaps, 'tides')), 200)
  t.deepEqual(json.resources.configMap.data, { high: '4.1' })
  await expectStatus(client.send('PUT', '/editor/manifest', about(configMaps, 'tides')), 200)
  await expectStatus(client.send('PUT', '/editor/resources', about(configMaps, 'tides')), 200)
  const model = { ...about(configMaps, 'new'), resources: { configMap: {} } }
  for (const path of ['/options/model', '/options/manifest', '/options/resources', '/editor']) {
    const refused = await client.send('PUT', path, model)
    t.deepEqual([refused.status, refused.json.code], [500, 'HelmMissing'], `${path} ${refused.text}`)
    t.regex(refused.json.message, /helm/)
  }
})
