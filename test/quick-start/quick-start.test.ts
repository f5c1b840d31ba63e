import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { kubectl, kubernetes } from '../support/components/available.ts'
import { needing } from '../support/components/needing.ts'
import { adminPassword } from '../support/service.ts'
import { startServiceProcess } from '../support/service-process.ts'
import { quickStartBlocks, quickStartScript } from './readme-commands.ts'

const run = promisify(execFile)
const test = needing('kubernetes', 'kubectl')

test('the README’s quick start works as it is written, against a real cluster', async (t) => {
  const cluster = await kubernetes()
  const kubectlPath = await kubectl()
  if (cluster === undefined || kubectlPath === undefined) return t.fail('the cluster and kubectl are there, or this case is skipped')
  const folder = await mkdtemp(join(tmpdir(), 'moorage-quick-start-'))
  const service = await startServiceProcess({ settings: { MOORAGE_KUBERNETES_ALLOW: 'loopback' } })
  try {
    const script = quickStartScript({
      BASE: `${service.baseUrl}/api/v1`,
      PASSWORD: adminPassword,
      KUBECONFIG_OF_THE_CLUSTER: cluster.adminKubeconfigPath,
    })
    const path = [dirname(process.execPath), dirname(kubectlPath), process.env['PATH'] ?? ''].join(delimiter)
    const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', script], { cwd: folder, env: { PATH: path, HOME: folder }, maxBuffer: 16_000_000 })
    t.regex(stdout, /"login":"admin"/)
    t.regex(stdout, /"name":"Owners".*"name":"Editors".*"name":"Viewers"|"name":"Owners"/s)
    t.regex(stdout, /\{"objectType":"cluster","objectID":1,"allowedPermissions":\[\]\}/)
    t.regex(stdout, /"objectType":"organization","objectID":2,"allowedPermissions":\[[^\]]*"member"/)
    t.regex(stdout, /"name":"prod"[^]*"phase":"Active"/)
    t.regex(stdout, /^default +Active/m)
    t.regex(stdout, /configmap\/moorings created\nconfigmap\/moorings patched\nconfigmap "moorings" deleted/)
    t.regex(stdout, /^403$/m)
    t.regex(stdout, /"action":"role\.deleted"[^]*"action":"cluster\.imported"/)
  } finally {
    await service.stop()
    await rm(folder, { recursive: true, force: true })
  }
})

test('the quick start names every step of the hour', (t) => {
  const text = quickStartBlocks().join('\n')
  for (const step of ['user/signin', 'users/admin/tokens', '/orgs', 'admin/users', 'available_permissions', 'allowed-permissions', 'clustersv2/acme/import', 'client-config', 'kubectl']) {
    t.true(text.includes(step), step)
  }
})
