// process: own - starts programs that sign people in
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { clientSources, commandPath, pythonPackages, toolEnvironment } from '../openapi/generators.ts'
import type { BackgroundProcess } from '../support/components/background-process.ts'
import { startProcess, untilReady } from '../support/components/background-process.ts'
import { needing } from '../support/components/needing.ts'
import { findOidcClient } from '../support/components/oidc-clients.ts'
import { reservedPort } from '../support/components/reserved-port.ts'
import { mustRun } from '../support/components/run-command.ts'
import { createRunFolder, removeRunFolder } from '../support/components/run-folder.ts'
import { makeCookieJar } from '../support/cookie-jar.ts'
import { until } from '../support/until.ts'
import type { FlowFixture, Registered } from './flow.fixture.ts'
import { redirectUri, startFlowFixture } from './flow.fixture.ts'

/** Programs that know OpenID Connect independently of this service, with the settings of docs/authorization-server.md. */
const test = needing('generators')
const ofAcme = '/orgs/acme/applications/oauth2'

let fixture: FlowFixture
let folder: string
test.before(async () => {
  folder = createRunFolder('oidc-clients')
  fixture = await startFlowFixture()
})
test.after.always(async () => {
  await fixture?.stop()
  removeRunFolder(folder)
})

const setActive = (login: string, active: boolean) => fixture.as('admin', 'PATCH', `/admin/users/${login}`, { active })
const withdraw = (login: string, { id }: Registered) =>
  fixture.as(login, 'POST', `/user/settings/applications/oauth2/${id}/revoke`)

/** Returns the claims of an ID token, which the program itself has verified. */
const claimsOf = (token: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>

/** Runs kubelogin as kubectl runs it. */
const kubeloginFor = async ({ clientId }: Registered) => {
  const [file, home, port] = [await findOidcClient('kubelogin'), join(folder, 'kubelogin'), await reservedPort()]
  const cache = ['--token-cache-dir', home]
  const words = [
    'get-token',
    `--oidc-issuer-url=${fixture.issuer}`,
    `--oidc-client-id=${clientId}`,
    '--oidc-extra-scope=groups',
    '--oidc-extra-scope=offline_access',
    `--listen-address=127.0.0.1:${port}`,
    '--skip-open-browser',
    ...cache,
  ]
  let runs = 0
  const start = (...more: readonly string[]): BackgroundProcess =>
    startProcess({ name: `kubelogin-${(runs += 1)}`, file, arguments: [...words, ...more], folder })
  const asksPerson = (running: BackgroundProcess) =>
    until('kubelogin asks for a browser or ends', () =>
      running.output().includes('Please visit') ? 'asks' : running.hasEnded() ? running.output() : undefined,
    )
  const tokenOf = async (running: BackgroundProcess): Promise<string> => {
    await until('kubelogin ends', () => running.hasEnded() || undefined)
    const line = running
      .output()
      .split('\n')
      .find((each) => each.startsWith('{'))
    if (line === undefined) throw new Error(running.output())
    return (JSON.parse(line) as { readonly status: { readonly token: string } }).status.token
  }
  return {
    start,
    asksPerson,
    tokenOf,
    async signIn(login: string, ...more: readonly string[]): Promise<string> {
      const running = start(...more)
      // kubelogin names the address before it listens there.
      await asksPerson(running)
      const { headers } = await until('kubelogin listens', () =>
        fetch(`http://localhost:${port}/`, { redirect: 'manual' }).catch(() => undefined),
      )
      const browser = fixture.browser()
      await browser.signIn(login)
      await fetch(await browser.authorize(new URL(headers.get('location') ?? '')))
      return tokenOf(running)
    },
    clean: () => mustRun(file, ['clean', ...cache]),
  }
}

test.serial('kubelogin signs a person in, refreshes, loses access and signs out', async (t) => {
  const form = { name: 'kubectl', isPublic: true, redirectUri: 'http://localhost:8000' }
  const application = await fixture.register('ada', form, ofAcme)
  const kubelogin = await kubeloginFor(application)
  const claims = claimsOf(await kubelogin.signIn('ed'))
  t.like(claims, { iss: fixture.issuer, aud: application.clientId, sub: String(fixture.idOf('ed')) })
  t.deepEqual(claims['groups'], ['acme', 'acme:Editors'])
  const refreshed = await kubelogin.tokenOf(kubelogin.start('--force-refresh'))
  t.is(claimsOf(refreshed)['sub'], claims['sub'])
  t.is((await withdraw('ed', application)).status, 200)
  const refused = kubelogin.start('--force-refresh')
  t.is(await kubelogin.asksPerson(refused), 'asks')
  await refused.stop()
  // Without --force-refresh it returns the ID token of its cache, which is valid for its hour.
  t.is(claimsOf(await kubelogin.signIn('ed', '--force-refresh'))['sub'], claims['sub'])
  await kubelogin.clean()
  const signedOut = kubelogin.start()
  t.is(await kubelogin.asksPerson(signedOut), 'asks')
  await signedOut.stop()
})

/** A page behind oauth2-proxy, as a browser sees it. */
const visitorOf = (origin: string, browser: ReturnType<FlowFixture['browser']>) => {
  const jar = makeCookieJar()
  const get = async (url: URL | string) => {
    const { Cookie = '' } = jar.headers(new URL(url).pathname)
    const reply = await fetch(url, { redirect: 'manual', headers: { cookie: Cookie } })
    const cookies = reply.headers.getSetCookie()
    jar.take({ 'set-cookie': cookies })
    return { status: reply.status, location: reply.headers.get('location') ?? '', text: await reply.text(), cookies }
  }
  return {
    get,
    page: () => get(`${origin}/`),
    /** Follows the page to the service and back. Returns the answer at the end of the sign-in. */
    async signIn() {
      const { location } = await get(`${origin}/`)
      return get(await browser.authorize(new URL(location)))
    },
  }
}

const startProxy = async (name: string, refreshAfter: string) => {
  const port = await reservedPort()
  const origin = `http://127.0.0.1:${port}`
  const form = { name: 'Wiki', redirectUri: `${origin}/oauth2/callback`, postLogoutRedirectUri: `${origin}/` }
  const { clientId, clientSecret } = await fixture.register('ada', form, ofAcme)
  const running = startProcess({
    name,
    file: await findOidcClient('oauth2-proxy'),
    arguments: [
      '--provider=oidc',
      `--oidc-issuer-url=${fixture.issuer}`,
      `--client-id=${clientId}`,
      `--client-secret=${clientSecret}`,
      '--code-challenge-method=S256',
      '--scope=openid profile email groups offline_access',
      `--cookie-refresh=${refreshAfter}`,
      '--oidc-groups-claim=groups',
      '--allowed-group=acme:Editors',
      `--redirect-url=${origin}/oauth2/callback`,
      '--email-domain=*',
      `--whitelist-domain=${new URL(fixture.issuer).host}`,
      '--cookie-secret=0123456789abcdef0123456789abcdef',
      '--skip-provider-button',
      // A test without certificates.
      '--cookie-secure=false',
      '--upstream=static://200',
      `--http-address=127.0.0.1:${port}`,
    ],
    folder,
  })
  await untilReady(running, async () => (await fetch(`${origin}/ping`)).ok, 60_000)
  return { origin, clientId, running }
}

test.serial('oauth2-proxy signs a person in, refreshes, loses access and signs out', async (t) => {
  const { origin, clientId, running } = await startProxy('oauth2-proxy', '1s')
  t.teardown(() => running.stop())
  const visitorFor = async (login: string) => {
    const browser = fixture.browser()
    await browser.signIn(login)
    return { browser, visitor: visitorOf(origin, browser) }
  }
  const { browser, visitor: ed } = await visitorFor('ed')
  t.is((await ed.signIn()).status, 302)
  t.is((await ed.page()).status, 200)
  t.is((await (await visitorFor('vic')).visitor.signIn()).status, 403)
  const isNewSession = async () => {
    const { status, cookies } = await ed.page()
    return status === 200 && cookies.some((cookie) => cookie.startsWith('_oauth2_proxy=')) ? true : undefined
  }
  t.true(await until('the session of the proxy is refreshed', isNewSession))
  t.true(await until('the session of the proxy is refreshed again', isNewSession))
  const end = new URL(`${fixture.issuer}/session/end`)
  end.search = new URLSearchParams({ client_id: clientId, post_logout_redirect_uri: `${origin}/` }).toString()
  const left = await ed.get(`${origin}/oauth2/sign_out?rd=${encodeURIComponent(end.href)}`)
  t.is(left.location, end.href)
  const { jar } = browser
  const question = await fetch(left.location, { headers: { cookie: jar.headers('/oidc/session/end')['Cookie'] ?? '' } })
  t.regex(await question.text(), /asks you to sign out/)
  t.true((await ed.page()).location.startsWith(`${fixture.issuer}/auth`))
  t.is((await ed.signIn()).status, 302)
  t.is((await setActive('ed', false)).status, 200)
  t.teardown(() => setActive('ed', true))
  const lost = await until('the proxy refuses a disabled person', async () => {
    const { location } = await ed.page()
    return location === '' ? undefined : location
  })
  t.true(lost.startsWith(`${fixture.issuer}/auth`))
})

/** Starts the program that signs a person in with authlib. Returns what sends it a command. */
const startAuthlib = async ({ clientId, clientSecret }: Registered) => {
  const python = commandPath('python3', 'install Python 3.11 or newer with pip (Debian: python3-pip)')
  const script = join(clientSources, 'authlib/sign_in.py')
  const child = spawn(python, [script, fixture.issuer, clientId, clientSecret, redirectUri], {
    // The service of a test has no certificate.
    env: toolEnvironment({ PYTHONPATH: await pythonPackages('authlib'), AUTHLIB_INSECURE_TRANSPORT: '1' }),
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    stop: () => child.stdin.end(),
    async send(command: string): Promise<{ readonly value?: unknown; readonly error?: string }> {
      child.stdin.write(`${command}\n`)
      const { value, done } = await lines.next()
      if (done === true) throw new Error('authlib ended')
      return JSON.parse(value) as object
    },
  }
}

test.serial('authlib signs a person in, refreshes, loses access and signs out', async (t) => {
  const application = await fixture.register('ada', { name: 'Notebook' }, ofAcme)
  const authlib = await startAuthlib(application)
  t.teardown(authlib.stop)
  const signIn = async () => {
    const browser = fixture.browser()
    await browser.signIn('vic')
    const { value } = await authlib.send('begin')
    return authlib.send(`redeem ${(await browser.authorize(new URL(String(value)))).href}`)
  }
  const person = { sub: String(fixture.idOf('vic')), preferred_username: 'vic', email: 'vic@example.org' }
  t.like((await signIn()).value, { ...person, groups: ['acme', 'acme:Viewers'] })
  t.deepEqual(await authlib.send('refresh'), { value: true })
  t.like((await authlib.send('userinfo')).value, person)
  t.is((await withdraw('vic', application)).status, 200)
  t.regex((await authlib.send('userinfo')).error ?? '', /401/)
  t.regex((await authlib.send('refresh')).error ?? '', /invalid_grant/)
  t.like((await signIn()).value, person)
  t.deepEqual(await authlib.send('revoke'), { value: 200 })
  t.regex((await authlib.send('userinfo')).error ?? '', /401/)
  t.regex((await authlib.send('refresh')).error ?? '', /invalid_grant/)
})
