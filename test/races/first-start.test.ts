import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '../../adapters/sql/engine/database.ts'
import { allMigrations } from '../../adapters/sql/migrations/all-migrations.ts'
import { needing } from '../support/components/needing.ts'
import { emptyMysqlUrl } from '../support/databases.ts'
import { startServiceProcess } from '../support/service-process.ts'
import { adminLogin } from '../support/service.ts'
import { brokenInvariants } from './invariants.ts'

const test = needing('mariadb')

test('two instances that start at once on an empty database: one schema, one keyring, one admin, one password shown', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-first-start-'))
  const url = await emptyMysqlUrl()
  // Empty: as if it were not set, so that a password is generated.
  const settings = { MOORAGE_DATABASE_URL: url, MOORAGE_KEYRING: join(folder, 'keyring.json'), MOORAGE_TLS: 'false', MOORAGE_ADMIN_PASSWORD: '' }
  const database = await openDatabase(url)
  const services = await Promise.all([1, 2].map(() => startServiceProcess({ settings })))
  t.teardown(async () => {
    await Promise.all(services.map((service) => service.stop()))
    await database.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const shown = services.flatMap((service) => /password\D*?:?\s+(\S{12,})/i.exec(service.stdout())?.[1] ?? [])
  t.is(shown.length, 1, services.map((service) => service.stdout()).join('\n'))
  const count = async (table: string): Promise<number> => Number((await database.query<{ n: number }>((k) => k(table).count({ n: '*' })))[0]?.n)
  t.deepEqual([await count('users'), await count('accounts'), await count('emails')], [1, 1, 1])
  t.is(await count('schema_migrations'), allMigrations.length)
  t.deepEqual(await brokenInvariants(database), [])

  const [first] = services
  const signedIn = await first!.send('POST', '/api/v1/user/signin', { body: { username: adminLogin, password: shown[0] } })
  t.is(signedIn.status, 200, signedIn.text)
  const Cookie = [signedIn.headers['set-cookie'] ?? []].flat().map((line) => line.split(';')[0] ?? '')
  const csrf = decodeURIComponent(Cookie.find((each) => each.startsWith('_csrf='))?.slice('_csrf='.length) ?? '')
  const headers = { Cookie: Cookie.join('; '), 'X-Csrf-Token': csrf }
  for (const service of services) {
    t.is((await service.send('GET', '/api/v1/user', { headers })).json.login, adminLogin, 'one session everywhere')
    const changed = await service.send('PATCH', '/api/v1/user/settings', { headers, body: { location: 'here' } })
    t.is(changed.status, 200, 'and one key for its CSRF value')
  }
})
