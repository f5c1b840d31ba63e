import test from 'ava'
import sharp from 'sharp'
import type { TestService } from '../../support/service.ts'
import { startService } from '../../support/service.ts'

const picture = (color: string) =>
  sharp({ create: { width: 400, height: 300, channels: 3, background: color } })
    .jpeg()
    .toBuffer()

let service: TestService
test.before(async () => {
  service = await startService()
})
test.after.always(() => service?.stop())

const ask = (method: string, path: string, init: RequestInit = {}) =>
  fetch(path.startsWith('http') ? path : `${service.baseUrl}/api/v1${path}`, {
    method,
    ...init,
    headers: { authorization: `token ${service.adminToken}`, ...(init.headers as Record<string, string>) },
  })
const askJson = (method: string, path: string, body: unknown) =>
  ask(method, path, { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } })
const avatarUrl = async (): Promise<string> =>
  ((await (await ask('GET', '/user')).json()) as { avatar_url: string }).avatar_url

test.serial('a picture given as base64 is served at its address, and can be removed', async (t) => {
  const drawn = await avatarUrl()
  t.is((await askJson('POST', '/user/avatar', { image: (await picture('red')).toString('base64') })).status, 204)
  const url = await avatarUrl()
  const shown = await fetch(url)
  t.deepEqual([shown.status, shown.headers.get('content-type')], [200, 'image/png'])
  const bytes = Buffer.from(await shown.arrayBuffer())
  const { width, height } = await sharp(bytes).metadata()
  t.is(width, height)
  t.is((await fetch(url, { headers: { 'if-none-match': shown.headers.get('etag') ?? '' } })).status, 304)
  t.is((await ask('DELETE', '/user/avatar')).status, 204)
  t.is(await avatarUrl(), drawn)
  t.is((await fetch(url)).status, 404)
  t.is((await ask('DELETE', '/user/avatar')).status, 204)
})

test.serial('a browser form does the same', async (t) => {
  const form = new FormData()
  form.set('source', 'local')
  form.set('avatar', new Blob([new Uint8Array(await picture('blue'))], { type: 'image/jpeg' }), 'me.jpg')
  t.is((await ask('POST', '/user/settings/avatar', { body: form })).status, 200)
  const settings = (await (await ask('GET', '/user/settings/avatar')).json()) as { source: string; avatar: string }
  t.deepEqual(settings, { source: 'local', avatar: await avatarUrl(), gravatar: '', federavatar: false } as never)
  t.is((await fetch(settings.avatar)).status, 200)
  t.is((await ask('POST', '/user/settings/avatar/delete')).status, 200)
  t.like(await (await ask('GET', '/user/settings/avatar')).json(), { source: '', avatar: await avatarUrl() })
})

test.serial('a file that is not a picture changes nothing', async (t) => {
  t.is((await askJson('POST', '/user/avatar', { image: (await picture('green')).toString('base64') })).status, 204)
  const before = await avatarUrl()
  const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>').toString('base64')
  for (const image of [svg, '', 'not base64!', 7, null])
    t.is((await askJson('POST', '/user/avatar', { image })).status, 422, String(image))
  const form = new FormData()
  form.set('avatar', new Blob(['%PDF-1.7']), 'me.png')
  t.is((await ask('POST', '/user/settings/avatar', { body: form })).status, 422)
  const broken = await ask('POST', '/user/settings/avatar', {
    body: '--x\r\nno form',
    headers: { 'content-type': 'multipart/form-data; boundary=x' },
  })
  t.is(broken.status, 400)
  t.is((await ask('POST', '/user/avatar', { body: form })).status, 415)
  t.is(await avatarUrl(), before)
})

test('an address that no picture has', async (t) => {
  t.is((await fetch(`${service.baseUrl}/api/v1/avatars/${'a'.repeat(43)}`)).status, 404)
  t.is((await fetch(`${service.baseUrl}/api/v1/avatars/short`)).status, 404)
})

test('a search tells how many there are, and where the next page is', async (t) => {
  const answer = await ask('GET', '/users/search?q=&limit=1')
  t.is(answer.headers.get('x-total-count'), '1')
  const { ok, data } = (await answer.json()) as { ok: boolean; data: unknown[] }
  t.deepEqual([ok, data.length], [true, 1])
})

test.serial('editors of an organization change its picture, which its profile shows', async (t) => {
  t.is((await askJson('POST', '/orgs', { username: 'Pictured', visibility: 'private' })).status, 201)
  const shownUrl = async () =>
    ((await (await ask('GET', '/orgs/pictured')).json()) as { avatar_url: string }).avatar_url
  const drawn = await shownUrl()
  t.is(await (await ask('GET', '/orgs/pictured/avatar')).json(), drawn as never)
  t.is((await fetch(drawn)).headers.get('content-type'), 'image/png')
  const set = await askJson('POST', '/orgs/pictured/avatar', { image: (await picture('navy')).toString('base64') })
  t.deepEqual([set.status, await set.text()], [204, ''], 'as for a user')
  t.is((await fetch(await shownUrl())).status, 200)
  const form = new FormData()
  form.set('source', 'local')
  form.set('avatar', new Blob([new Uint8Array(await picture('teal'))], { type: 'image/jpeg' }), 'logo.jpg')
  const byForm = await ask('POST', '/orgs/pictured/avatar/', { body: form })
  t.is(byForm.status, 200)
  t.deepEqual(await byForm.json(), { avatar: await shownUrl() } as never)
  t.is(await (await ask('GET', '/orgs/pictured/avatar/')).json(), (await shownUrl()) as never)
  t.is((await askJson('POST', '/orgs/pictured/avatar', {})).status, 422)
  form.append('source', 'gravatar')
  const twice = await ask('POST', '/orgs/pictured/avatar/', { body: form })
  t.is(twice.status, 422)
  t.regex(await twice.text(), /\"source\\?"/, 'a repeated field is refused and named')
  t.is((await ask('POST', '/orgs/pictured/avatar/delete')).status, 200)
  t.is(await shownUrl(), drawn)
  t.is((await ask('DELETE', '/orgs/pictured/avatar')).status, 204)
})

test('a name has a picture, whether or not there is an account of that name', async (t) => {
  t.is(
    (
      await askJson('POST', '/admin/users', {
        username: 'hidden',
        email: 'hidden@example.org',
        password: 'a long passphrase',
        visibility: 'private',
      })
    ).status,
    201,
  )
  const url = ((await (await ask('GET', '/users/hidden')).json()) as { avatar_url: string }).avatar_url
  const shown = await fetch(url)
  const bytes = Buffer.from(await shown.arrayBuffer())
  t.deepEqual(
    [shown.status, shown.headers.get('content-type'), shown.headers.get('cache-control')],
    [200, 'image/png', 'public, max-age=86400'],
  )
  const { width, height } = await sharp(bytes).metadata()
  t.true(width > 64 && width === height)
  t.is((await fetch(url, { headers: { 'if-none-match': shown.headers.get('etag') ?? '' } })).status, 304)
  const missing = await fetch(url.replace('hidden', 'nobody-has-this'))
  const headersOf = (answer: Response) => [...answer.headers.keys()].sort()
  t.deepEqual([missing.status, headersOf(missing)], [200, headersOf(shown)])
  t.not(missing.headers.get('etag'), shown.headers.get('etag'), 'another name, another picture')
  t.is((await fetch(url.replace('hidden', 'HIDDEN'))).headers.get('etag'), shown.headers.get('etag'))
  for (const name of ['a%20b', 'x'.repeat(64), '%F0%9F%98%80'])
    t.is((await fetch(url.replace('hidden', name))).status, 404, name)
})
