import { createHmac } from 'node:crypto'
import test from 'ava'
import * as jose from 'jose'
import type { Answer } from './stand-in.ts'
import type { Returned, SignInFixture } from './sign-in.fixture.ts'
import { startSignInFixture } from './sign-in.fixture.ts'

let fixture: SignInFixture
let id: number

test.before(async () => {
  fixture = await startSignInFixture()
  fixture.addPerson({ sub: 'r1', email: 'rita@corp.test', email_verified: true, preferred_username: 'rita' })
  fixture.provider.as = 'r1'
  id = await fixture.connect('site', { allows_creation: true })
})
test.after.always(() => fixture.stop())
test.afterEach.always(() => fixture.provider.change.clear())

/** Begins a sign-in and lets the provider answer. */
const answered = async () => {
  const browser = fixture.browser()
  const begun = await browser.begin(id)
  if (begun.status !== 200) throw new Error(`the sign-in did not begin: ${begun.text}`)
  return { browser, returned: await browser.visit(begun.json.url) }
}

/** Signs in with an answer of the token endpoint that is changed. */
const signInWith = async (change: (answer: Answer) => void | Promise<void>) => {
  fixture.provider.change.set('/token', change)
  const { browser, returned } = await answered()
  return { browser, answer: await browser.finish(id, returned) }
}

/** Signs in with an ID token that is made of the claims of the provider. */
const signInByToken = (make: (claims: jose.JWTPayload) => Promise<string> | string) =>
  signInWith(async (answer) => fixture.provider.withIdToken(answer, await make(fixture.provider.claimsOf(answer))))

const signed = (change: object) => signInByToken((claims) => fixture.provider.sign({ ...claims, ...change }))

/** Refuses an answer if the sentence fits, nothing is opened and nothing is disclosed. */
const refused = (
  t: {
    like: (a: object, b: object) => boolean
    regex: (a: string, b: RegExp) => boolean
    deepEqual: (a: unknown, b: unknown) => boolean
  },
  { browser, answer }: Awaited<ReturnType<typeof signInWith>>,
  code: string,
  sentence: RegExp,
): void => {
  t.like(answer.json, { code })
  t.regex(answer.json.message, sentence)
  t.deepEqual(
    browser.jar.names().filter((name) => name !== 'moorage_sign_in'),
    [],
  )
}

const now = () => Math.floor(Date.now() / 1000)
const unsecured = (claims: jose.JWTPayload): string => new jose.UnsecuredJWT(claims).encode()
const base64 = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

test.serial('an ID token of algorithm none is refused', async (t) => {
  refused(t, await signInByToken(unsecured), 'ProviderAnswerRefused', /signed|signature|algorithm/)
})

test.serial('an ID token signed by HS256 with the public key is refused', async (t) => {
  const made = await signInByToken((claims) => {
    const text = `${base64({ alg: 'HS256', kid: 'first' })}.${base64(claims)}`
    return `${text}.${createHmac('sha256', fixture.provider.publicKeyPem).update(text).digest('base64url')}`
  })
  refused(t, made, 'ProviderAnswerRefused', /algorithm|key/)
})

test.serial('an ID token signed by HS256 with the client secret is refused', async (t) => {
  const made = await signInByToken((claims) =>
    new jose.SignJWT(claims)
      .setProtectedHeader({ alg: 'HS256' })
      .sign(new TextEncoder().encode('s3cret-s3cret-s3cret-s3cret-12345')),
  )
  refused(t, made, 'ProviderAnswerRefused', /algorithm|key/)
})

test.serial('an ID token signed by a key that is not published is refused', async (t) => {
  const { privateKey } = await jose.generateKeyPair('RS256')
  const made = await signInByToken((claims) => fixture.provider.sign(claims, {}, privateKey))
  refused(t, made, 'ProviderAnswerRefused', /signature/)
})

test.serial('an ID token for another audience is refused', async (t) => {
  refused(t, await signed({ aud: 'another-client' }), 'ProviderAnswerRefused', /audience/)
})

test.serial('an ID token of another issuer is refused', async (t) => {
  refused(t, await signed({ iss: 'https://evil.test' }), 'ProviderAnswerRefused', /another issuer/)
})

test.serial('an ID token of another sign-in is refused', async (t) => {
  refused(t, await signed({ nonce: 'another' }), 'ProviderAnswerRefused', /another sign-in/)
})

test.serial('an ID token that has expired is refused', async (t) => {
  refused(t, await signed({ exp: now() - 120, iat: now() - 300 }), 'ProviderAnswerRefused', /clock/)
})

for (const [which, seconds] of [
  ['ahead', 120],
  ['behind', -120],
] as const)
  test.serial(`a provider whose clock is two minutes ${which} is refused`, async (t) => {
    refused(t, await signed({ iat: now() + seconds, exp: now() + seconds + 300 }), 'ProviderAnswerRefused', /clock/)
  })

test.serial('a provider whose clock is half a minute ahead is accepted', async (t) => {
  const { answer } = await signed({ iat: now() + 30, exp: now() + 330 })
  t.is(answer.status, 200, answer.text)
})

test.serial('an answer without an ID token is refused', async (t) => {
  const made = await signInWith((answer) => {
    const { id_token: _, ...tokens } = JSON.parse(answer.body) as { readonly id_token: string }
    answer.body = JSON.stringify(tokens)
  })
  refused(t, made, 'ProviderAnswerRefused', /ID token/)
})

test.serial('a provider that answers HTML is reported as out of order', async (t) => {
  const made = await signInWith((answer) => void Object.assign(answer, { type: 'text/html', body: '<h1>Down</h1>' }))
  refused(t, made, 'ProviderUnavailable', /does not answer as/)
})

test.serial('a provider that answers 500 is reported as out of order', async (t) => {
  const made = await signInWith(
    (answer) => void Object.assign(answer, { status: 500, body: 'oops', type: 'text/plain' }),
  )
  refused(t, made, 'ProviderUnavailable', /does not answer as/)
})

test.serial('a provider that does not accept the client is reported as out of order', async (t) => {
  const made = await signInWith((answer) => {
    Object.assign(answer, { status: 401, body: JSON.stringify({ error: 'invalid_client' }), type: 'application/json' })
  })
  refused(t, made, 'ProviderUnavailable', /does not answer as|client/)
})

const finishWith = async (change: (returned: Returned) => Returned) => {
  const { browser, returned } = await answered()
  return { browser, answer: await browser.finish(id, change(returned)) }
}

test.serial('an answer of another issuer is refused (RFC 9207)', async (t) => {
  const made = await finishWith((returned) => ({ ...returned, iss: 'https://evil.test' }))
  refused(t, made, 'ProviderAnswerRefused', /another issuer/)
})

test.serial('an answer that does not name its issuer is refused where the provider names it', async (t) => {
  const made = await finishWith(({ iss: _, ...returned }) => returned)
  refused(t, made, 'ProviderAnswerRefused', /issuer/)
})

test.serial('an answer with an unknown state is refused', async (t) => {
  refused(t, await finishWith((returned) => ({ ...returned, state: 'x' })), 'AttemptMissing', /Begin again/)
})

test.serial('an answer is used once', async (t) => {
  const { browser, returned } = await answered()
  t.is((await browser.finish(id, returned)).status, 200)
  const again = fixture.browser()
  t.like((await browser.finish(id, returned)).json, { code: 'AttemptMissing' })
  t.like((await again.finish(id, returned)).json, { code: 'AttemptMissing' })
})

test.serial('of two answers at once, one opens a session', async (t) => {
  const { browser, returned } = await answered()
  const both = await Promise.all([browser.finish(id, returned), browser.finish(id, returned)])
  t.deepEqual(both.map(({ status }) => status).sort(), [200, 422])
})

test.serial('an answer in another browser is refused', async (t) => {
  const { returned } = await answered()
  const other = fixture.browser()
  await other.begin(id)
  refused(t, { browser: other, answer: await other.finish(id, returned) }, 'AttemptMissing', /another browser/)
})

test.serial('an answer at the redirect URI of another provider is refused', async (t) => {
  const other = await fixture.connect('acme')
  const { browser, returned } = await answered()
  refused(t, { browser, answer: await browser.finish(other, returned) }, 'AttemptMissing', /Begin again/)
})

test.serial('a code of another sign-in is refused, since its verifier does not fit', async (t) => {
  const [first, second] = [await answered(), await answered()]
  const { code = '' } = second.returned
  const answer = await first.browser.finish(id, { ...first.returned, code })
  refused(t, { browser: first.browser, answer }, 'ProviderAnswerRefused', /does not accept the code/)
})

test.serial('a refusal of the provider is shown without its own words', async (t) => {
  const made = await finishWith(({ state = '' }) => ({ state, error: 'access_denied<script>' }))
  refused(t, made, 'ProviderAnswerRefused', /refused the sign-in \(access_deniedscript\)/)
})

test.serial('a sign-in that began at another issuer does not begin', async (t) => {
  const browser = fixture.browser()
  t.is((await browser.begin(id, { iss: 'https://evil.test' })).status, 404)
  t.is((await browser.begin(id, { iss: fixture.provider.issuer })).status, 200)
})

test.serial('unknown keys of many tokens are looked for once a minute', async (t) => {
  const before = fixture.provider.requests.get('/jwks') ?? 0
  const token = await fixture.provider.sign({ iss: fixture.provider.issuer }, { kid: 'unknown', typ: 'logout+jwt' })
  for (let times = 0; times < 50; times += 1) {
    const answer = await fixture.browser().send('POST', `/user/oauth2/${id}/logout`, { logout_token: token })
    t.is(answer.status, 400)
  }
  t.true((fixture.provider.requests.get('/jwks') ?? 0) - before <= 1)
})

test.serial('many sign-ins at once read the description of a provider once', async (t) => {
  const other = await fixture.connect('acme', { name: 'often' })
  const path = '/.well-known/openid-configuration'
  for (const status of [503, 200]) {
    if (status === 503) fixture.provider.change.set(path, (answer) => void Object.assign(answer, { status }))
    else await fixture.as('ada', 'PATCH', `/orgs/acme/identity-providers/${other}`, { display_name: 'Often' })
    const before = fixture.provider.requests.get(path) ?? 0
    const begun = await Promise.all(Array.from({ length: 20 }, () => fixture.browser().begin(other)))
    t.deepEqual(
      [...new Set(begun.map((answer) => answer.json.code ?? 'begun'))],
      [status === 503 ? 'ProviderUnavailable' : 'begun'],
    )
    t.is((fixture.provider.requests.get(path) ?? 0) - before, 1)
    fixture.provider.change.clear()
  }
})

test.serial('an issuer inside the network is refused as one that does not exist is', async (t) => {
  for (const issuer of ['https://169.254.169.254', 'https://10.0.0.1', 'http://nowhere.test']) {
    const made = await fixture.as('ada', 'POST', '/orgs/acme/identity-providers', {
      name: `inside${issuer.length}`,
      issuer,
      client_id: 'x',
    })
    t.is(made.status, 201)
    const checked = await fixture.as('ada', 'POST', `/orgs/acme/identity-providers/${made.json.id}/check`)
    t.is(checked.json.code, 'ProviderUnavailable')
    t.regex(checked.json.message, /cannot be reached from here/)
  }
})

test.serial('an address inside the network in the description of a provider is not requested', async (t) => {
  const other = await fixture.connect('acme', { name: 'inside-token' })
  fixture.provider.change.set('/.well-known/openid-configuration', (answer) => {
    answer.body = JSON.stringify({
      ...(JSON.parse(answer.body) as object),
      token_endpoint: 'https://169.254.169.254/t',
    })
  })
  const browser = fixture.browser()
  const begun = await browser.begin(other)
  const answer = await browser.finish(other, await browser.visit(begun.json.url))
  t.is(answer.json.code, 'ProviderUnavailable')
  t.regex(answer.json.message, /cannot be reached from here/)
})

test.serial('a provider of many tenants is refused', async (t) => {
  const other = await fixture.connect('acme', { name: 'many' })
  fixture.provider.change.set('/.well-known/openid-configuration', (answer) => {
    answer.body = JSON.stringify({ ...(JSON.parse(answer.body) as object), issuer: 'https://login.test/{tenantid}' })
  })
  const checked = await fixture.as('ada', 'POST', `/orgs/acme/identity-providers/${other}/check`)
  t.is(checked.json.code, 'ProviderUnavailable')
})

test.serial('rotated keys are read again', async (t) => {
  await fixture.provider.rotate()
  // The keys were read less than a minute ago: the description is read anew, and its keys with it.
  await fixture.as('admin', 'POST', `/accounts/admin/auths/${id}/check`)
  const { browser, returned } = await answered()
  t.is((await browser.finish(id, returned)).status, 200)
})

test.serial('refused sign-ins are in the audit log with provider and reason', async (t) => {
  const rows = async () =>
    (await fixture.as('admin', 'GET', '/admin/audit?action=identity_provider.sign_in_refused&limit=100'))
      .json as unknown as { object_type: string; object_id: number; changes: Record<string, string> }[]
  const ofAudience = async () =>
    (await rows()).filter(({ changes }) => changes['reason']?.includes('audience') === true)
  const before = (await ofAudience()).length
  for (let times = 0; times < 3; times += 1) await signed({ aud: 'another-client' })
  const [row] = await ofAudience()
  t.true((await ofAudience()).length <= Math.max(1, before), 'a flood does not fill the log')
  t.like(row, { object_type: 'identity_provider', object_id: id, changes: { code: 'ProviderAnswerRefused' } })
  const all = JSON.stringify(await rows())
  t.regex(all, /"AttemptMissing"/)
  t.notRegex(all, /s3cret|eyJ/, 'neither secrets nor tokens')
})

test.serial('no secret of a provider is in an answer or in the log', async (t) => {
  const shown = await fixture.as('admin', 'GET', '/accounts/admin/auths')
  t.false(shown.text.includes('s3cret'))
  t.false(fixture.service.logText().includes('s3cret'))
})
