import test from 'ava'
import { getCaller } from '../../plugins/identity/accounts/users.routes.ts'
import type { DirectoryFixture } from './directory-fixture.ts'
import { entraUser, patch, scimPath, startDirectoryFixture } from './directory-fixture.ts'

let fixture: DirectoryFixture
test.before(async () => {
  fixture = await startDirectoryFixture()
})
test.after.always(() => fixture?.stop())

const acme = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
  fixture.scim('acme', method, path, body, headers)
const eq = (attribute: string, value: string): string => `?filter=${encodeURIComponent(`${attribute} eq "${value}"`)}`

test.serial('a probe for an unknown user returns an empty list', async (t) => {
  const probe = await acme('GET', `/Users${eq('userName', '7e5c2a1b-probe')}`)
  t.is(probe.status, 200)
  t.is(probe.headers['content-type'], 'application/scim+json')
  t.deepEqual(probe.json, {
    schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
    totalResults: 0,
    startIndex: 1,
    itemsPerPage: 0,
    Resources: [],
  })
})

test.serial('the conversation of Entra ID creates, changes, disables and deletes an account', async (t) => {
  const created = await acme('POST', '/Users', entraUser('Grace.Hopper@example.org'))
  t.is(created.status, 201, created.text)
  const { id, meta } = created.json as { id: string; meta: { location: string; version: string } }
  t.is(created.headers['location'], meta.location)
  t.true(meta.location.endsWith(`${scimPath('acme')}/Users/${id}`))
  t.is(created.headers['etag'], meta.version)
  t.like(created.json, { userName: 'Grace.Hopper@example.org', active: true, externalId: 'Grace.Hopper' })

  const account = (await fixture.as('admin', 'GET', '/users/grace.hopper')).json as Record<string, unknown>
  t.like(account, {
    id: Number(id),
    full_name: 'Display of Grace.Hopper@example.org',
    email: 'Grace.Hopper@example.org',
  })
  t.is((await fixture.as('ada', 'GET', '/orgs/acme/members/grace.hopper')).status, 204)

  const found = await acme('GET', `/Users${eq('userName', 'GRACE.HOPPER@EXAMPLE.ORG')}`)
  t.is((found.json as { totalResults: number }).totalResults, 1)
  const byWork = `?filter=${encodeURIComponent('emails[type eq "work"].value eq "grace.hopper@example.org"')}`
  t.is(((await acme('GET', `/Users${byWork}`)).json as { totalResults: number }).totalResults, 1)

  const changed = await acme(
    'PATCH',
    `/Users/${id}`,
    patch(
      { op: 'Replace', path: 'displayName', value: 'Grace H.' },
      { op: 'Add', path: 'emails[type eq "work"].value', value: 'grace@example.org' },
      { op: 'Add', path: 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department', value: 'Navy' },
      { op: 'Replace', value: { 'name.givenName': 'Grace' } },
    ),
  )
  t.is(changed.status, 200, changed.text)
  t.like(changed.json, { displayName: 'Grace H.', name: { givenName: 'Grace', familyName: 'Family' } })
  t.like((await fixture.as('admin', 'GET', '/users/grace.hopper')).json, {
    full_name: 'Grace H.',
    email: 'grace@example.org',
  })

  const token = await fixture.service.tokenFor('grace.hopper')
  t.like((await fixture.service.call(token, getCaller)).value, { login: 'grace.hopper' })
  const disabled = await acme('PATCH', `/Users/${id}`, patch({ op: 'Replace', path: 'active', value: 'False' }))
  t.like(disabled.json, { active: false })
  t.is((await fixture.service.send('GET', '/api/v1/user', { token })).status, 401)
  t.is((await acme('PATCH', `/Users/${id}`, patch({ op: 'Replace', value: { active: 'True' } }))).status, 200)
  t.is((await fixture.service.send('GET', '/api/v1/user', { token })).status, 401, 'the tokens are gone for good')
  t.is((await acme('DELETE', `/Users/${id}`)).status, 204)
  const gone = await acme('GET', `/Users/${id}`)
  t.deepEqual([gone.status, gone.headers['content-type']], [404, 'application/scim+json'])
  t.like(gone.json, { schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'], status: '404' })
  t.is((await fixture.as('admin', 'GET', '/users/grace.hopper')).status, 404)

  const again = await acme('POST', '/Users', entraUser('grace.hopper@example.org'))
  t.is(again.status, 201, 'the name and the address can be used again')
  t.not((again.json as { id: string }).id, id)
})

test.serial('the conversation of Okta replaces a user and disables it', async (t) => {
  const body = {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
    userName: 'okta.user@example.org',
    name: { givenName: 'Okta', familyName: 'User' },
    emails: [{ primary: true, value: 'okta.user@example.org', type: 'work' }],
    displayName: 'Okta User',
    locale: 'en-US',
    externalId: '00u1',
    groups: [],
    password: 'never kept',
    active: true,
  }
  const created = await acme('POST', '/Users', body)
  t.is(created.status, 201, created.text)
  t.false(created.text.includes('never kept'))
  const { id } = created.json as { id: string }
  const replaced = await acme('PUT', `/Users/${id}`, { ...body, displayName: 'Other', locale: undefined })
  t.is(replaced.status, 200, replaced.text)
  t.like(replaced.json, { displayName: 'Other', active: true })
  t.false('locale' in (replaced.json as object))
  t.is((await acme('PATCH', `/Users/${id}`, patch({ op: 'replace', value: { active: false } }))).status, 200)
  const page = await acme('GET', '/Users?startIndex=1&count=100')
  t.true(
    (page.json as { Resources: { id: string; active: boolean }[] }).Resources.some((u) => u.id === id && !u.active),
  )
  t.is((await acme('PUT', `/Users/${id}`, { ...body, active: undefined })).status, 200)
  t.like((await acme('GET', `/Users/${id}`)).json, { active: false }, 'a body without active enables nobody')
})

test.serial('a name that is taken gets another account name, and an address only once', async (t) => {
  const first = await acme('POST', '/Users', entraUser('ada@other.example'))
  t.is(first.status, 201, first.text)
  t.is((await fixture.as('admin', 'GET', '/users/ada-acme')).json.id, Number((first.json as { id: string }).id))
  const refused = await acme(
    'POST',
    '/Users',
    entraUser('ADA@other.example', { emails: [{ value: 'x@other.example' }] }),
  )
  t.like(refused.json, { status: '409', scimType: 'uniqueness' })
  const taken = await acme('POST', '/Users', entraUser('someone', { emails: [{ value: 'ed@example.org' }] }))
  t.like(taken.json, { status: '409', scimType: 'uniqueness' })
  const none = await acme('POST', '/Users', entraUser('without-address', { emails: [] }))
  t.like(none.json, { status: '400', scimType: 'invalidValue' })
  const long = await acme('POST', '/Users', entraUser('İ'.repeat(200), { emails: [{ value: 'long@example.org' }] }))
  t.like(long.json, { status: '400', scimType: 'invalidValue' }, 'its lower case has 400 characters')
})

test.serial('a directory reaches the users of its own organization only', async (t) => {
  const { id } = (await acme('POST', '/Users', entraUser('own@example.org'))).json as { id: string }
  const foreign = (method: string, path: string, body?: unknown) => fixture.scim('evil', method, path, body)
  for (const [method, body] of [
    ['GET', undefined],
    ['PUT', entraUser('own@example.org')],
    ['PATCH', patch({ op: 'replace', path: 'active', value: false })],
    ['DELETE', undefined],
  ] as const)
    t.is((await foreign(method, `/Users/${id}`, body)).status, 404, method)
  t.like((await foreign('GET', '/Users')).json, { totalResults: 0 })
  const wrong = await fixture.service.send('GET', `${scimPath('acme')}/Users`, { token: fixture.tokenOf('evil') })
  t.deepEqual([wrong.status, wrong.json?.schemas], [404, ['urn:ietf:params:scim:api:messages:2.0:Error']])
  t.is((await fixture.as('adam', 'GET', '/scim/v2/organizations/acme/Users')).status, 403)
  t.is((await fixture.as(undefined, 'GET', '/scim/v2/organizations/acme/Users')).status, 401)
})

test.serial('If-Match guards a change, and If-None-Match saves an answer', async (t) => {
  const created = await acme('POST', '/Users', entraUser('versioned@example.org'))
  const { id } = created.json as { id: string }
  const etag = String(created.headers['etag'])
  t.is((await acme('GET', `/Users/${id}`, undefined, { 'If-None-Match': etag })).status, 304)
  const change = patch({ op: 'replace', path: 'title', value: 'Captain' })
  t.is((await acme('PATCH', `/Users/${id}`, change, { 'If-Match': etag })).status, 200)
  const stale = await acme('PATCH', `/Users/${id}`, change, { 'If-Match': etag })
  t.like(stale.json, { status: '412' })
  t.is((await acme('GET', `/Users/${id}`, undefined, { 'If-None-Match': etag })).status, 200)
})

test.serial('a list is cut by startIndex and count, and attributes choose what is shown', async (t) => {
  const all = (await acme('GET', '/Users')).json as { totalResults: number; Resources: { id: string }[] }
  const second = (await acme('GET', '/Users?startIndex=2&count=1&attributes=userName,name.familyName')).json as {
    Resources: Record<string, unknown>[]
  }
  t.like(second, { totalResults: all.totalResults, startIndex: 2, itemsPerPage: 1 })
  t.is(second.Resources[0]?.['id'], all.Resources[1]?.id)
  t.deepEqual(Object.keys(second.Resources[0] ?? {}).sort(), ['id', 'name', 'schemas', 'userName'])
  t.like((await acme('GET', '/Users?count=0')).json, { totalResults: all.totalResults, Resources: [] })
  const without = (await acme('GET', '/Users?count=1&excludedAttributes=emails')).json as { Resources: object[] }
  t.false('emails' in (without.Resources[0] ?? {}))
  const bad = await acme('GET', `/Users?filter=${encodeURIComponent('userName is "x"')}`)
  t.like(bad.json, { status: '400', scimType: 'invalidFilter' })
  const some = (await acme('GET', `/Users?filter=${encodeURIComponent('title eq "captain" and active eq true')}`)).json
  t.like(some, { totalResults: 1 })
})

test.serial('the last owner of an organization is not deleted', async (t) => {
  const { id } = (await fixture.scim('evil', 'POST', '/Users', entraUser('heir@example.net'))).json as { id: string }
  const owners = ((await fixture.as('eve', 'GET', '/orgs/evil/teams')).json as { id: number; name: string }[]).find(
    ({ name }) => name === 'Owners',
  )
  t.is((await fixture.as('eve', 'PUT', `/teams/${owners?.id}/members/heir`)).status, 204)
  t.is((await fixture.as('eve', 'DELETE', `/teams/${owners?.id}/members/eve`)).status, 204)
  const refused = await fixture.scim('evil', 'DELETE', `/Users/${id}`)
  t.is(refused.status, 409, refused.text)
  t.is((await fixture.scim('evil', 'GET', `/Users/${id}`)).status, 200)
})

test.serial('SCIM is served below the root of the host as well', async (t) => {
  const token = fixture.tokenOf('acme')
  const path = '/scim/v2/organizations/acme/ServiceProviderConfig'
  const [short, long] = [
    await fixture.service.send('GET', path, { token }),
    await fixture.service.send('GET', `/api/v1${path}`, { token }),
  ]
  t.deepEqual([short.status, short.text], [200, long.text])
  const refused = await fixture.service.send('GET', '/scim/v2/organizations/acme/Users/0', { token })
  t.deepEqual([refused.status, refused.headers['content-type']], [404, 'application/scim+json'])
  t.is((await fixture.service.send('GET', '/scim/v2/organizations/acme/Users')).status, 401)
  t.is((await fixture.service.send('GET', '/scimitar', { token })).headers['content-type'], 'text/html; charset=utf-8')
})
