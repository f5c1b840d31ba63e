import type { Binding } from '../../composition/part/binding.ts'
import { bind } from '../../composition/part/binding.ts'
import { DomainProofsPort } from '../../core/identity-providers/ports.ts'
import type { ServiceOptions } from '../support/service.ts'
import type { CookieJar } from '../support/cookie-jar.ts'
import { makeCookieJar } from '../support/cookie-jar.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import type { ServiceFixture } from '../organizations/service-fixture.ts'
import { startFixture } from '../organizations/service-fixture.ts'
import type { Person, StandIn } from './stand-in.ts'
import { clientId, clientSecret, startStandIn } from './stand-in.ts'

const api = '/api/v1'

/** The parameters with which a provider sends a browser back. */
export type Returned = Readonly<Record<string, string>>

/** A browser with the cookies of the service and those of the provider. */
export interface Browser {
  readonly jar: CookieJar
  begin(providerId: number, body?: object): Promise<ServiceAnswer>
  /** Follows the provider to the redirect URI. */
  visit(url: string): Promise<Returned>
  finish(providerId: number, returned: Returned): Promise<ServiceAnswer>
  signIn(providerId: number): Promise<ServiceAnswer>
  send(method: string, path: string, body?: unknown): Promise<ServiceAnswer>
}

/** A service with the organization acme, and a provider that acme or the site is connected to. */
export interface SignInFixture extends ServiceFixture {
  readonly provider: StandIn
  browser(): Browser
  /** Adds the provider to acme, or to the site. */
  connect(owner: 'acme' | 'site', form?: object): Promise<number>
  addPerson(person: Person): void
  /** Makes acme's domain verified, without the proof. */
  readonly provenDomains: Set<string>
}

const formText = (returned: URLSearchParams): Returned => Object.fromEntries(returned)

/** Providers are numbered from 1: their redirect URIs are registered before they exist. */
const mostProviders = 20

export const startSignInFixture = async (options: ServiceOptions = {}): Promise<SignInFixture> => {
  const provenDomains = new Set<string>()
  const redirectUris: string[] = []
  const provider = await startStandIn(redirectUris)
  const { settings, ...others } = options
  const fixture = await startFixture({
    ...others,
    settings: { MOORAGE_EGRESS_ALLOW: '127.0.0.1', ...settings },
    replaced: [...(options.replaced ?? []), provenBy(provenDomains)],
  })
  const { baseUrl } = fixture.service
  for (let id = 1; id <= mostProviders; id += 1) redirectUris.push(`${baseUrl}/user/oauth2/${id}/callback`)
  provider.restart()

  const browser = (): Browser => {
    const jar = makeCookieJar()
    const atProvider = makeCookieJar()
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
      for (let hops = 0; hops < 12; hops += 1) {
        if (url.origin === new URL(baseUrl).origin) return formText(url.searchParams)
        const { Cookie = '' } = atProvider.headers(url.pathname)
        const reply = await fetch(url, { redirect: 'manual', headers: { cookie: Cookie } })
        atProvider.take({ 'set-cookie': reply.headers.getSetCookie() })
        const location = reply.headers.get('location')
        if (location === null) throw new Error(`the provider answered ${reply.status}: ${await reply.text()}`)
        url = new URL(location, url)
      }
      throw new Error('the provider redirects without end')
    }
    const begin: Browser['begin'] = (id, body) => send('POST', `/user/oauth2/${id}`, body ?? {})
    const finish: Browser['finish'] = (id, returned) => send('POST', `/user/oauth2/${id}/callback`, returned)
    return {
      jar,
      begin,
      visit,
      finish,
      send,
      async signIn(id) {
        const begun = await begin(id)
        return begun.status === 200 ? finish(id, await visit(begun.json.url)) : begun
      },
    }
  }

  return {
    ...fixture,
    provider,
    provenDomains,
    browser,
    addPerson: (person) => void provider.people.set(person.sub, person),
    async connect(owner, form = {}) {
      const common = { name: `p${(made += 1)}`, ...form }
      const answer = await (owner === 'acme'
        ? fixture.as('ada', 'POST', '/orgs/acme/identity-providers', {
            issuer: provider.issuer,
            client_id: clientId,
            client_secret: clientSecret,
            ...common,
          })
        : fixture.as('admin', 'POST', '/accounts/admin/auths/new', {
            openIDConnectAutoDiscoveryURL: provider.issuer,
            oauth2Key: clientId,
            oauth2Secret: clientSecret,
            ...common,
          }))
      if (answer.status !== 201) throw new Error(`the provider was not added: ${answer.status} ${answer.text}`)
      return (answer.json as { readonly id: number }).id
    },
    async stop() {
      await fixture.stop()
      await provider.stop()
    },
  }
}

let made = 0

/** Proofs of domains as a test says. */
const provenBy = (proven: ReadonlySet<string>): Binding =>
  bind(DomainProofsPort, {}, () => ({
    find: async (domain) => (proven.has(domain) ? 'present' : 'absent'),
  }))
