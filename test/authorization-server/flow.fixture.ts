import * as client from 'openid-client'
import type { ServiceFixture } from '../organizations/service-fixture.ts'
import { startFixture } from '../organizations/service-fixture.ts'
import type { CookieJar } from '../support/cookie-jar.ts'
import { makeCookieJar } from '../support/cookie-jar.ts'
import type { SendOptions, ServiceAnswer } from '../support/send-json.ts'
import { makeSendJson } from '../support/send-json.ts'
import { reservedPort } from '../support/components/reserved-port.ts'
import type { ServiceOptions } from '../support/service.ts'
import { startService } from '../support/service.ts'

/** The password of every person of the fixture. */
export const password = 'a long passphrase of ours'

export const redirectUri = 'https://app.example.com/callback'

/** An application as its registration answered. */
export interface Registered {
  readonly id: number
  readonly clientId: string
  readonly clientSecret: string
}

/** A browser with the cookies of the service. */
interface Browser {
  readonly jar: CookieJar
  send(method: string, path: string, body?: unknown): Promise<ServiceAnswer>
  signIn(login: string): Promise<void>
  /** Follows redirects within the service. Returns the first address that is a page of it, or of another host. */
  visit(url: URL | string): Promise<URL>
  /** Visits an authorization request, and allows or refuses what it asks. Returns where the browser ends. */
  authorize(url: URL, isAccepted?: boolean): Promise<URL>
}

/** An authorization request, with what the application keeps of it. */
interface Begun {
  readonly url: URL
  readonly verifier: string
  readonly state: string
  readonly nonce: string
}

export interface FlowFixture extends ServiceFixture {
  readonly issuer: string
  register(login: string, form?: object, path?: string): Promise<Registered>
  browser(): Browser
  configOf(application: Registered): Promise<client.Configuration>
  begin(config: client.Configuration, scope: string, more?: Record<string, string>): Promise<Begun>
  /** Signs a person in at an application, and exchanges the code. */
  tokensFor(
    application: Registered,
    login: string,
    scope: string,
    browser?: Browser,
  ): Promise<client.TokenEndpointResponse & client.TokenEndpointResponseHelpers>
}

const api = '/api/v1'
const mostHops = 12

/** Another instance of the same service. Its base URL is that of the first one, and it listens at `url`. */
interface Instance {
  readonly url: string
  send(method: string, path: string, options?: SendOptions): Promise<ServiceAnswer>
  stop(): Promise<void>
}

/** The settings of another instance, which listens at `url`. */
export const settingsBeside = async ({ service }: FlowFixture, keyRing: Readonly<Record<string, string>>) => {
  const listen = `127.0.0.1:${await reservedPort()}`
  const { databaseUrl, baseUrl } = service
  const settings = { ...keyRing, MOORAGE_DATABASE_URL: databaseUrl, MOORAGE_BASE_URL: baseUrl, MOORAGE_LISTEN: listen }
  return { settings, url: `http://${listen}` }
}

/** Starts another instance in this process. */
export const startInstance = async (
  fixture: FlowFixture,
  keyRing: Readonly<Record<string, string>>,
): Promise<Instance> => {
  const { settings, url } = await settingsBeside(fixture, keyRing)
  const { stop } = await startService({ settings })
  return { url, send: makeSendJson(url), stop }
}

export const startFlowFixture = async (options: ServiceOptions = {}): Promise<FlowFixture> => {
  const fixture = await startFixture(options)
  const { baseUrl } = fixture.service
  const issuer = `${baseUrl}/oidc`

  const browser = (): Browser => {
    const jar = makeCookieJar()
    const send: Browser['send'] = async (method, path, body) => {
      const answer = await fixture.service.send(method, api + path, {
        headers: jar.headers(api + path),
        ...(body === undefined ? {} : { body }),
      })
      jar.take(answer.headers)
      return answer
    }
    const visit: Browser['visit'] = async (from) => {
      let url = new URL(from)
      for (let hops = 0; hops < mostHops; hops += 1) {
        if (url.origin !== new URL(baseUrl).origin || !url.pathname.startsWith('/oidc')) return url
        const { Cookie = '' } = jar.headers(url.pathname)
        const reply = await fetch(url, { redirect: 'manual', headers: { cookie: Cookie } })
        jar.take({ 'set-cookie': reply.headers.getSetCookie() })
        const location = reply.headers.get('location')
        if (location === null) throw new Error(`${url.pathname} answered ${reply.status}: ${await reply.text()}`)
        url = new URL(location, url)
      }
      throw new Error('the service redirects without end')
    }
    return {
      jar,
      send,
      visit,
      async signIn(username) {
        const answer = await send('POST', '/user/signin', { username, password })
        if (answer.status !== 200) throw new Error(answer.text)
      },
      async authorize(url, isAccepted = true) {
        const page = await visit(url)
        if (page.pathname !== '/authorize') return page
        const [id, key] = [page.searchParams.get('id'), page.searchParams.get('key')]
        const answer = await send('POST', '/user/authorizations', { id, key, is_accepted: isAccepted })
        if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`)
        return visit((answer.json as { readonly url: string }).url)
      },
    }
  }

  const configOf: FlowFixture['configOf'] = ({ clientId, clientSecret }) =>
    client.discovery(
      new URL(issuer),
      clientId,
      undefined,
      clientSecret === '' ? client.None() : client.ClientSecretBasic(clientSecret),
      { execute: [client.allowInsecureRequests] },
    )

  const begin: FlowFixture['begin'] = async (config, scope, more = {}) => {
    const verifier = client.randomPKCECodeVerifier()
    const [state, nonce] = [client.randomState(), client.randomNonce()]
    const url = client.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      ...(scope.split(' ').includes('openid') ? { nonce } : {}),
      ...more,
    })
    return { url, verifier, state, nonce }
  }

  return {
    ...fixture,
    issuer,
    browser,
    configOf,
    begin,
    async register(login, form = {}, path = '/user/settings/applications/oauth2') {
      const answer = await fixture.as(login, 'POST', path, { name: 'An application', redirectUri, ...form })
      if (answer.status >= 300) throw new Error(`${answer.status} ${answer.text}`)
      return answer.json as Registered
    },
    async tokensFor(application, login, scope, given) {
      const own = given ?? browser()
      if (given === undefined) await own.signIn(login)
      const config = await configOf(application)
      const { url, verifier, state, nonce } = await begin(config, scope)
      const returned = await own.authorize(url)
      const isOpenId = scope.split(' ').includes('openid')
      return client.authorizationCodeGrant(config, returned, {
        pkceCodeVerifier: verifier,
        expectedState: state,
        ...(isOpenId ? { expectedNonce: nonce } : {}),
      })
    },
  }
}
