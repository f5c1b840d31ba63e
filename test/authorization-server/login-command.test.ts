import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { openBrowser } from '../../adapters/system/browser.ts'
import { signInByBrowser } from '../../composition/parts/authorization-server/browser-login.ts'
import { login } from '../../composition/parts/authorization-server/login.ts'
import { runCommandLine } from '../../composition/moorage.ts'
import type { FlowFixture } from './flow.fixture.ts'
import { startFlowFixture } from './flow.fixture.ts'

const folder = mkdtempSync(join(tmpdir(), 'moorage-login-'))
const file = join(folder, 'moorage', 'logins.json')

let fixture: FlowFixture
let server: string
test.before(async () => {
  fixture = await startFlowFixture()
  server = fixture.service.baseUrl
})
test.after.always(async () => {
  await fixture.stop()
  rmSync(folder, { recursive: true, force: true })
})

const contextOf = () => {
  const [out, err]: [string[], string[]] = [[], []]
  const context = {
    environment: { XDG_CONFIG_HOME: folder },
    print: (text: string) => void out.push(text),
    say: (text: string) => void err.push(text),
  }
  return { context, out: () => out.join('\n'), err: () => err.join('\n') }
}

const run = async (...words: string[]) => {
  const { context, out, err } = contextOf()
  return { code: await runCommandLine(words, context), out: out(), err: err() }
}

/** Signs a person in at the command line, and answers on the page as soon as it is known. */
const signIn = async (person: string, isAccepted = true) => {
  const browser = fixture.browser()
  await browser.signIn(person)
  const { context, out, err } = contextOf()
  const answered = { ...context, say: (text: string) => (context.say(text), void answer(text)) }
  const answer = async (text: string): Promise<void> => {
    const user_code = /user_code=([\w-]+)/.exec(text)?.[1]
    if (user_code !== undefined) await browser.send('POST', '/user/devices', { user_code, is_accepted: isAccepted })
  }
  return { code: await login(answered, { server }, 20), out: out(), err: err() }
}

type Logins = Record<string, { accessToken: string; refreshToken: string; expiresAt: string }>
const kept = (): Logins => JSON.parse(readFileSync(file, 'utf8')) as Logins
const expire = (): void => {
  const logins = kept()
  for (const each of Object.values(logins)) each.expiresAt = new Date(0).toISOString()
  writeFileSync(file, JSON.stringify(logins))
}

test.serial('a person signs in by a page, and other commands need no token', async (t) => {
  const done = await signIn('ed')
  t.is(done.code, 0, done.err)
  t.is(done.out, `ed at ${server}`)
  t.is(statSync(file).mode & 0o777, 0o600)
  t.deepEqual(JSON.parse((await run('whoami', server, '--json')).out), { login: 'ed', server })
  t.is((await run('kubeconfig', 'acme/none', '--server', server)).code, 1)
})

test.serial('commands that renew a login at the same time leave it valid', async (t) => {
  expire()
  const before = kept()[server]?.refreshToken
  const runs = await Promise.all(Array.from({ length: 8 }, () => run('whoami', server)))
  for (const { code, err } of runs) t.is(code, 0, err)
  t.not(kept()[server]?.refreshToken, before)
  expire()
  t.is((await run('whoami', server)).code, 0)
})

test.serial('a logout ends the login at the server too', async (t) => {
  const { accessToken } = kept()[server] ?? { accessToken: '' }
  t.is((await run('logout', server)).code, 0)
  t.deepEqual(kept(), {})
  t.is((await fixture.service.send('GET', '/api/v1/user', { token: accessToken })).status, 401)
  t.is((await run('whoami', server)).code, 2)
  t.is((await run('logout', server)).code, 1)
})

test.serial('a login that was withdrawn is forgotten, and a refused one is not kept', async (t) => {
  await signIn('vic')
  const [grant] = (await fixture.as('vic', 'GET', '/user/settings/applications/oauth2/grants')).json as unknown as {
    applicationId: number
  }[]
  await fixture.as('vic', 'POST', `/user/settings/applications/oauth2/${grant?.applicationId}/revoke`)
  expire()
  t.regex((await run('whoami', server)).err, /Sign in with moorage login/)
  t.deepEqual(kept(), {})
  const refused = await signIn('vic', false)
  t.is(refused.code, 1)
  t.regex(refused.err, /You refused/)
  t.deepEqual(kept(), {})
})

/** Signs a person in by a browser, which `visit` drives from the address that the command opens. */
const signInWith = async (visit: (url: URL) => Promise<void>) => {
  const { context, out, err } = contextOf()
  const visits: Promise<void>[] = []
  const openBrowser = async (url: string): Promise<boolean> => {
    visits.push(visit(new URL(url)))
    return true
  }
  const code = await login({ ...context, openBrowser }, { server }, 20)
  await Promise.all(visits)
  return { code, out: out(), err: err() }
}
const signedInBrowser = async (person: string) => {
  const browser = fixture.browser()
  await browser.signIn(person)
  return browser
}

test.serial('a person signs in by the browser, which comes back to loopback', async (t) => {
  const browser = await signedInBrowser('ed')
  const done = await signInWith(async (url) => {
    const { searchParams: asked } = url
    t.regex(asked.get('redirect_uri') ?? '', /^http:\/\/127\.0\.0\.1:\d+\/$/)
    t.is(asked.get('code_challenge_method'), 'S256')
    const shown = await fetch(await browser.authorize(url))
    t.is(shown.status, 200)
    t.is(await shown.text(), 'You are signed in. Close this window.\n')
  })
  t.is(done.code, 0, done.err)
  t.is(done.out, `ed at ${server}`)
  expire()
  t.is((await run('whoami', server)).code, 0)
  t.is((await run('logout', server)).code, 0)
})

test.serial('a request without the state of the login is refused and ends nothing', async (t) => {
  const browser = await signedInBrowser('ed')
  const done = await signInWith(async (url) => {
    const own = url.searchParams.get('redirect_uri') ?? ''
    for (const query of ['', '?code=x', '?code=x&state=guess', '?error=access_denied'])
      t.is((await fetch(`${own}${query}`)).status, 400)
    const returned = await browser.authorize(url)
    t.is((await fetch(returned, { method: 'POST' })).status, 400)
    const answers = await Promise.all([fetch(returned), fetch(returned).catch(() => undefined)])
    t.is(answers.filter((answer) => answer?.status === 200).length, 1)
  })
  t.is(done.code, 0, done.err)
  t.is((await run('logout', server)).code, 0)
})

test.serial('an answer of another issuer and a refusal keep no login', async (t) => {
  const browser = await signedInBrowser('ed')
  const mixed = await signInWith(async (url) => {
    const returned = await browser.authorize(url)
    returned.searchParams.set('iss', 'https://evil.test/oidc')
    await fetch(returned)
  })
  t.is(mixed.code, 1)
  t.regex(mixed.err, /from another server/)
  const refused = await signInWith(async (url) => void (await fetch(await browser.authorize(url, false))))
  t.is(refused.code, 1)
  t.regex(refused.err, /You refused/)
  t.deepEqual(kept(), {})
})

test.serial('a login that is not answered in time ends', async (t) => {
  const { context } = contextOf()
  const ended = await signInByBrowser({ ...context, openBrowser: async () => true }, { server }, 'openid', 1)
  t.regex(ended !== undefined && 'problem' in ended ? ended.problem : '', /in time/)
})

test.serial('a login shows a code if no browser opens or --device is given', async (t) => {
  const browser = await signedInBrowser('vic')
  for (const device of [false, true]) {
    const { context, out, err } = contextOf()
    const opened: string[] = []
    const say = (text: string): void => {
      context.say(text)
      const user_code = /user_code=([\w-]+)/.exec(text)?.[1]
      if (user_code !== undefined) void browser.send('POST', '/user/devices', { user_code, is_accepted: true })
    }
    const openBrowser = async (url: string): Promise<boolean> => (opened.push(url), false)
    t.is(await login({ ...context, say, openBrowser }, { server, device }, 20), 0, err())
    t.is(opened.length, device ? 0 : 1)
    t.is(out(), `vic at ${server}`)
  }
})

test('a browser is opened only where there is a screen and a command for it', async (t) => {
  const path = { PATH: folder }
  t.false(await openBrowser('http://127.0.0.1/', path, 'linux'))
  t.false(await openBrowser('http://127.0.0.1/', { ...path, DISPLAY: ':0' }, 'linux'))
  t.false(await openBrowser('http://127.0.0.1/', { ...path, SSH_CONNECTION: 'x' }, 'darwin'))
  for (const [status, isOpen] of [
    [0, true],
    [3, false],
  ] as const) {
    writeFileSync(join(folder, 'xdg-open'), `#!/bin/sh\nexit ${status}\n`, { mode: 0o755 })
    t.is(await openBrowser('http://127.0.0.1/', { ...path, DISPLAY: ':0' }, 'linux'), isOpen)
  }
})
