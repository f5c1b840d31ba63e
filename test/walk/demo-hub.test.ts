// process: own - starts a hub, and services on what the commands have made
import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { scriptOf } from '../quick-start/readme-commands.ts'
import { kubectl } from '../support/components/available.ts'
import { needing } from '../support/components/needing.ts'
import { startService } from '../support/service.ts'
import { runIn } from '../composition/command-fixture.ts'
import { startHub } from '../support/hub/hub-command.ts'

const test = needing('kubernetes', 'spoke-kubernetes', 'kubectl').serial

const folder = mkdtempSync(join(tmpdir(), 'moorage-demo-hub-'))
test.after.always(() => rmSync(folder, { recursive: true, force: true }))

const demo = (settings: Readonly<Record<string, string>>, ...words: readonly string[]) =>
  runIn(settings, 'demo', ...words)

test('the hub demonstration has client organizations, and reset removes them', async (t) => {
  t.timeout(900_000)
  const hub = await startHub()
  t.teardown(hub.stop)
  const kubectlPath = (await kubectl()) ?? ''
  const listOf = async (kubeconfig: string, kinds: string): Promise<readonly string[]> => {
    const { stdout } = await promisify(execFile)(kubectlPath, [
      '--kubeconfig',
      kubeconfig,
      'get',
      kinds,
      '-A',
      '-o',
      'name',
    ])
    return stdout.trim().split('\n')
  }
  const ofClients = /lighthouse|drydock/
  const settings = {
    MOORAGE_DATA_DIR: folder,
    MOORAGE_TLS: 'false',
    MOORAGE_HELM: 'off',
    MOORAGE_DATABASE_URL: `sqlite:${folder}/moorage.sqlite`,
    MOORAGE_KUBERNETES_ALLOW: 'public,private,loopback',
  }
  t.is((await demo(settings, 'seed', '--hub', hub.hub)).code, 2)

  // A seed that does not end is removed by reset.
  const refused = await demo(
    { ...settings, MOORAGE_KUBERNETES_ALLOW: 'public' },
    'seed',
    '--hub',
    hub.hub,
    '--spoke',
    hub.spoke,
  )
  t.is(refused.code, 1)
  t.regex(refused.err, /clustersv2\/harbourmaster\/import[^]*What was made is removed by: moorage demo reset/)
  t.is((await demo(settings, 'reset')).code, 0)

  const seeded = await demo(settings, 'seed', '--json', '--hub', hub.hub, '--spoke', hub.spoke)
  t.deepEqual([seeded.code, seeded.err], [0, ''])
  const { people } = JSON.parse(seeded.out) as { people: readonly { login: string; password: string }[] }
  const passwordOf = (login: string): string => people.find((person) => person.login === login)?.password ?? ''
  const service = await startService({ settings: { ...settings, MOORAGE_ADMIN_PASSWORD: passwordOf('admin') } })
  try {
    const page = readFileSync(new URL('../../docs/demo.md', import.meta.url), 'utf8')
    const [, block = ''] = /\n## With a hub\n[^]*?```sh\n([^]*?)```/.exec(page) ?? []
    const script = scriptOf([block], {
      BASE: `${service.baseUrl}/api/v1`,
      ADMIN_PASSWORD: passwordOf('admin'),
      LENA_PASSWORD: passwordOf('lena'),
    })
    const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script])
    for (const part of ['"quay"', '"status":"Active"', 'ConfigMapList', '403\n'])
      t.true(stdout.includes(part), `${part} in ${stdout}`)
  } finally {
    await service.stop()
  }
  const objects = 'namespaces,serviceaccounts,secrets,rolebindings,clusterrolebindings'
  t.true((await listOf(hub.spoke, objects)).some((name) => ofClients.test(name)))

  const copied = mkdtempSync(join(tmpdir(), 'moorage-demo-hub-'))
  t.teardown(() => rmSync(copied, { recursive: true, force: true }))
  cpSync(folder, copied, { recursive: true })
  const copy = { ...settings, MOORAGE_DATA_DIR: copied, MOORAGE_DATABASE_URL: `sqlite:${copied}/moorage.sqlite` }

  // What does not reach the hub removes nothing, and is continued.
  const unreached = await demo({ ...settings, MOORAGE_KUBERNETES_ALLOW: 'public' }, 'reset')
  t.is(unreached.code, 1)
  t.regex(unreached.err, /the database is kept[^]*demo reset --keep-hub/)
  const reset = await demo(settings, 'reset')
  t.deepEqual([reset.code, reset.err], [0, ''])
  t.deepEqual(
    (await listOf(hub.spoke, objects)).filter((name) => ofClients.test(name)),
    [],
  )
  t.false((await listOf(hub.hub, 'managedclusters')).some((name) => name.endsWith('/quay')))
  t.deepEqual(
    (await listOf(hub.hub, 'accounts.authentication.k8s.appscode.com')).filter((name) => name !== ''),
    [],
  )

  // A hub that is gone: the rows alone.
  await hub.stop()
  t.is((await demo(copy, 'reset')).code, 1)
  t.is((await demo(copy, 'reset', '--keep-hub')).code, 0)
})
