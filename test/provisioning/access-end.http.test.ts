// process: waiting - uses components
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeCookieJar } from '../support/cookie-jar.ts'
import { needing } from '../support/components/needing.ts'
import type { TestService } from '../support/service.ts'
import { startService, testEnvironment } from '../support/service.ts'
import type { DirectoryFixture } from './directory-fixture.ts'
import { entraUser, patch, startDirectoryFixture } from './directory-fixture.ts'

const test = needing('mariadb')
const password = 'quiet-harbour-lantern-31'

let fixture: DirectoryFixture
let other: TestService
const folder = mkdtempSync(join(tmpdir(), 'moorage-directory-'))
test.before(async () => {
  const settings = await testEnvironment(folder, 'mysql')
  fixture = await startDirectoryFixture({ settings })
  other = await startService({ settings })
})
test.after.always(async () => {
  await other?.stop()
  await fixture?.stop()
  rmSync(folder, { recursive: true, force: true })
})

test.serial('a user who is made inactive loses sessions and tokens on every instance at once', async (t) => {
  const created = await fixture.scim('acme', 'POST', '/Users', entraUser('leaver@example.org'))
  const { id } = created.json as { id: string }
  const edit = { password, must_change_password: false }
  t.is((await fixture.as('admin', 'PATCH', '/admin/users/leaver', edit)).status, 200)
  const signIn = async (service: TestService) => {
    const jar = makeCookieJar()
    const body = { username: 'leaver', password, remember: true }
    const answer = await service.send('POST', '/api/v1/user/signin', { headers: jar.headers(), body })
    jar.take(answer.headers)
    return { answer, jar }
  }
  const [here, there] = [await signIn(fixture.service), await signIn(other)]
  t.deepEqual([here.answer.status, there.answer.status], [200, 200])
  const token = await fixture.service.tokenFor('leaver')
  const asked = async (): Promise<readonly number[]> => {
    const statuses: number[] = []
    for (const [service, { jar }] of [
      [fixture.service, here],
      [other, there],
    ] as const) {
      statuses.push((await service.send('GET', '/api/v1/user', { headers: jar.headers() })).status)
      statuses.push((await service.send('GET', '/api/v1/user', { token })).status)
    }
    return statuses
  }
  t.deepEqual(await asked(), [200, 200, 200, 200])
  const change = patch({ op: 'Replace', path: 'active', value: 'False' })
  t.is((await fixture.scim('acme', 'PATCH', `/Users/${id}`, change)).status, 200)
  t.deepEqual(await asked(), [401, 401, 401, 401])
  t.is((await signIn(other)).answer.status, 405, 'the password opens nothing')
})
