// process: own - starts a service on what the commands have made
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import test from 'ava'
import { scriptOf } from '../quick-start/readme-commands.ts'
import { startService } from '../support/service.ts'
import { runIn } from './command-fixture.ts'

const folder = mkdtempSync(join(tmpdir(), 'moorage-demo-'))
test.after.always(() => rmSync(folder, { recursive: true, force: true }))

let folders = 0
const newSettings = (more: Readonly<Record<string, string>>): Readonly<Record<string, string>> => {
  const data = join(folder, String((folders += 1)))
  return {
    MOORAGE_DATA_DIR: data,
    MOORAGE_DATABASE_URL: `sqlite:${data}/moorage.sqlite`,
    MOORAGE_TLS: 'false',
    MOORAGE_HELM: 'off',
    ...more,
  }
}

interface Seeded {
  readonly people: readonly { readonly login: string; readonly password: string; readonly what: string }[]
}

const demo = (settings: Readonly<Record<string, string>>, ...words: readonly string[]) =>
  runIn(settings, 'demo', ...words)

test.serial('the demonstration page works as written, and reset removes its data', async (t) => {
  t.timeout(300_000)
  const page = readFileSync(new URL('../../docs/demo.md', import.meta.url), 'utf8')
  const exported = /\nexport MOORAGE_DATA_DIR=demo (.*)\nnpm run moorage -- demo seed\n/.exec(page)?.[1] ?? ''
  const settings = newSettings(Object.fromEntries(exported.split(' ').map((each) => each.split('='))))
  const seeded = await demo(settings, 'seed', '--json')
  t.deepEqual([seeded.code, seeded.err], [0, ''])
  const { people } = JSON.parse(seeded.out) as Seeded
  t.is(people.length, 14)
  const passwordOf = (login: string): string => people.find((person) => person.login === login)?.password ?? ''
  t.regex((await demo(settings, 'seed')).err, /has accounts already.*demo reset/)

  const service = await startService({ settings: { ...settings, MOORAGE_ADMIN_PASSWORD: passwordOf('admin') } })
  try {
    t.regex((await demo(settings, 'reset')).err, /A service uses the database/)
    const [, toTry = ''] = /\n## Things to try\n([^]*?)\n## /.exec(page) ?? []
    const blocks = [...toTry.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, text = '']) => text)
    const script = scriptOf(blocks, {
      BASE: `${service.baseUrl}/api/v1`,
      ADMIN_PASSWORD: passwordOf('admin'),
      NORA_PASSWORD: passwordOf('nora'),
    })
    const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], { cwd: folder })
    for (const part of [
      '"frankfurt"',
      'cluster users',
      '"lighthouse"',
      'Databases for Northwind Bank',
      '"HM-000001"',
      '\n403\n',
      '"orders"',
    ])
      t.true(stdout.includes(part), `${part} in ${stdout}`)
    t.true(readFileSync(join(folder, 'report.pdf'), 'latin1').startsWith('%PDF'))
    const months = await service.send('GET', '/api/v1/dashboard/summary/generated-months?org=northwind', {
      token: service.adminToken,
    })
    t.is((months.json['months'] as readonly unknown[]).length, 3, months.text)
    t.is(
      (await service.send('POST', '/api/v1/orgs', { token: service.adminToken, body: { username: 'stranger' } }))
        .status,
      201,
    )
  } finally {
    await service.stop()
  }
  const refused = await demo(settings, 'reset')
  t.deepEqual([refused.code, refused.out], [1, ''])
  t.regex(refused.err, /accounts that the demonstration did not make: stranger\. Nothing was removed/)
  const again = await startService({ settings: { ...settings, MOORAGE_ADMIN_PASSWORD: passwordOf('admin') } })
  t.is((await again.send('DELETE', '/api/v1/orgs/stranger', { token: again.adminToken })).status, 204)
  await again.stop()
  t.is((await demo(settings, 'reset')).code, 0)
  t.regex((await demo(settings, 'reset')).err, /has no demonstration/)
  t.regex((await demo(newSettings({}), 'reset')).err, /has no tables: there is no demonstration/)
})

test.serial('every deployment type has its own demonstration', async (t) => {
  t.timeout(300_000)
  for (const type of ['SelfHosted', 'CloudAMarketplaceDeployment']) {
    const settings = newSettings({
      MOORAGE_DEPLOYMENT_TYPE: type,
      MOORAGE_CLOUD_A_IP_RANGES: 'off',
      MOORAGE_RUN_MODE: 'development',
    })
    const provider = type === 'SelfHosted' ? 'https://login.test/realms/a' : 'ldaps://ldap.test:3269/ou=people,dc=test'
    const seeded = await demo(settings, 'seed', '--json', '--identity-provider', provider)
    t.deepEqual([seeded.code, seeded.err], [0, ''], type)
    if (type === 'SelfHosted') continue
    const service = await startService({ settings })
    t.teardown(() => service.stop())
    const all = await service.send('GET', '/api/v1/dashboard/marketplaces/subscriptions', { token: service.adminToken })
    t.is((all.json as unknown as readonly unknown[]).length, 3, all.text)
    const [source] = (await service.send('GET', '/api/v1/accounts/admin/auths', { token: service.adminToken })).json
    t.like(source, { host: 'ldap.test', port: 3269, securityProtocol: 1, userBase: 'ou=people,dc=test' })
    t.true(source.default_team_id > 0)
  }
})
