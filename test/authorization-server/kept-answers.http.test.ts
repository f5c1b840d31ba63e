import test from 'ava'
import * as client from 'openid-client'
import { AccountReadsPort, ApplicationStorePort, RecordStorePort } from '../../core/authorization-server/ports.ts'
import type { FlowFixture, Registered } from './flow.fixture.ts'
import { startFlowFixture } from './flow.fixture.ts'

let fixture: FlowFixture
let application: Registered

test.before(async () => {
  fixture = await startFlowFixture()
  application = await fixture.register('ada', {}, '/orgs/acme/applications/oauth2')
})
test.after.always(() => fixture.stop())

const basic = ({ clientId, clientSecret }: Registered) => `Basic ${btoa(`${clientId}:${clientSecret}`)}`

const introspect = async (token: string, by: Registered = application) => {
  const answer = await fetch(`${fixture.issuer}/token/introspection`, {
    method: 'POST',
    headers: { authorization: basic(by), 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ token }).toString(),
  })
  return { status: answer.status, headers: answer.headers, json: (await answer.json()) as Record<string, unknown> }
}

const userinfo = async (token: string, headers: Record<string, string> = {}) => {
  const answer = await fetch(`${fixture.issuer}/me`, { headers: { authorization: `Bearer ${token}`, ...headers } })
  return { status: answer.status, headers: answer.headers, json: (await answer.json()) as Record<string, unknown> }
}

/** Both questions, each asked twice: the second answer is the kept one. */
const asked = async (token: string, by: Registered = application) => {
  await Promise.all([introspect(token, by), userinfo(token)])
  const [told, person] = await Promise.all([introspect(token, by), userinfo(token)])
  return { told: told.json['active'] ?? told.status, person: person.status === 200 ? person.json : person.status }
}

const scope = 'openid profile email groups read:user'

/** Counts the reads of the stores, each of which is a statement. */
const counted = () => {
  const { container } = fixture.service.running
  const reads: string[] = []
  const count = <A extends object>(store: A, names: readonly (keyof A & string)[]): void => {
    for (const name of names) {
      const read = store[name] as (...given: unknown[]) => unknown
      Object.assign(store, {
        [name]: (...given: unknown[]) => {
          reads.push(name)
          return read.apply(store, given)
        },
      })
    }
  }
  count(container.resolve(RecordStorePort), ['find', 'findByKey'])
  count(container.resolve(ApplicationStorePort), ['byClientId'])
  const { users, emails } = container.resolve(AccountReadsPort)
  count(users, ['byId'])
  count(emails, ['list'])
  return { taken: () => reads.splice(0).sort() }
}

test.serial('a question that was asked before is answered without a statement of its own', async (t) => {
  const { access_token: token } = await fixture.tokensFor(application, 'ed', scope)
  const reads = counted()
  const [first, info] = [await introspect(token), await userinfo(token)]
  const before = reads.taken()
  t.is(before.filter((name) => name === 'byClientId').length, 2, 'the application is read once for a request')
  t.true(before.filter((name) => name === 'find').length <= 6, before.join())
  const [again, sameInfo] = [await introspect(token), await userinfo(token)]
  t.deepEqual(reads.taken(), [])
  t.deepEqual([again.json, sameInfo.json], [first.json, info.json])
  for (const name of ['content-type', 'cache-control', 'vary', 'content-security-policy', 'x-content-type-options'])
    t.deepEqual(
      [again.headers.get(name), sameInfo.headers.get(name)],
      [first.headers.get(name), info.headers.get(name)],
    )
  t.is((await introspect(token, { ...application, clientSecret: 'guessed' })).status, 401)
  t.is((await userinfo(`${token}x`)).status, 401)
  t.is((await userinfo(token, { origin: 'https://app.example.com' })).status, 400)
})

test.serial('the next question knows of each change of a person', async (t) => {
  const { access_token: token } = await fixture.tokensFor(application, 'ed', scope)
  t.like((await asked(token)).person, { preferred_username: 'ed', groups: ['acme', 'acme:Editors'] })
  await fixture.as('ed', 'PATCH', '/user/settings', { full_name: 'Edward' })
  const team = (await fixture.as('ada', 'POST', '/orgs/acme/teams', { name: 'Night', permission: 'read', type: '' }))
    .json as { readonly id: number }
  await fixture.as('ada', 'PUT', `/teams/${team.id}/members/ed`)
  const joined = (await asked(token)).person as Record<string, unknown>
  t.deepEqual(joined['groups'], ['acme', 'acme:Editors', 'acme:Night'])
  await fixture.as('ada', 'PATCH', `/teams/${team.id}`, { name: 'Late', permission: 'read' })
  t.deepEqual(((await asked(token)).person as typeof joined)['groups'], ['acme', 'acme:Editors', 'acme:Late'])
  await fixture.as('ada', 'DELETE', `/teams/${team.id}`)
  t.deepEqual(((await asked(token)).person as typeof joined)['groups'], ['acme', 'acme:Editors'])
  await fixture.as('admin', 'PATCH', '/admin/users/ed', { active: false })
  t.deepEqual(await asked(token), { told: false, person: 401 })
  await fixture.as('admin', 'PATCH', '/admin/users/ed', { active: true })
})

test.serial('the next question knows that a token has ended, however it ended', async (t) => {
  const over = { told: false, person: 401 }
  const signedIn = async (login: string) => {
    const browser = fixture.browser()
    await browser.signIn(login)
    const { access_token: token } = await fixture.tokensFor(application, login, scope, browser)
    t.is((await asked(token)).told, true)
    return { browser, token }
  }
  const left = await signedIn('vic')
  await left.browser.send('GET', '/user/signout')
  t.deepEqual(await asked(left.token), over)
  const revoked = await signedIn('vic')
  await client.tokenRevocation(await fixture.configOf(application), revoked.token)
  t.deepEqual(await asked(revoked.token), over)
  const withdrawn = await signedIn('vic')
  await fixture.as('vic', 'POST', `/user/settings/applications/oauth2/${application.id}/revoke`)
  t.deepEqual(await asked(withdrawn.token), over)
  const disabled = await fixture.tokensFor(application, 'vic', `${scope} offline_access`)
  t.is((await asked(disabled.access_token)).told, true)
  await fixture.as('admin', 'PATCH', '/admin/users/vic', { active: false })
  t.deepEqual(await asked(disabled.access_token), over)
  await fixture.as('admin', 'PATCH', '/admin/users/vic', { active: true })
})

test.serial('the next question knows of each change of the application', async (t) => {
  const path = '/orgs/acme/applications/oauth2'
  const own = await fixture.register('ada', {}, path)
  const { access_token: token } = await fixture.tokensFor(own, 'ed', scope)
  t.is((await asked(token, own)).told, true)
  const rotate = async () =>
    (await fixture.as('ada', 'POST', `${path}/${own.id}/regenerate_secret`)).json as unknown as string
  await rotate()
  t.is((await asked(token, own)).told, true, 'the former secret is valid for a day')
  const current = await rotate()
  t.is((await asked(token, own)).told, 401)
  const reader = await fixture.register('admin', {}, '/accounts/admin/applications/oauth2')
  const trust = (isTrusted: boolean) =>
    fixture.as('admin', 'PUT', `/accounts/admin/applications/oauth2/${reader.id}/trust`, { isTrusted })
  t.is((await asked(token, reader)).told, false)
  t.true((await trust(true)).status < 300)
  t.is((await asked(token, reader)).told, true)
  await trust(false)
  t.is((await asked(token, reader)).told, false)
  t.is((await asked(token, { ...own, clientSecret: current })).told, true)
  await fixture.as('ada', 'DELETE', `${path}/${own.id}`)
  t.deepEqual(await asked(token, reader), { told: false, person: 401 })
})
