import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Interaction, KoaContextWithOIDC } from 'oidc-provider'
import { Provider } from 'oidc-provider'
import type {
  ApiUrl,
  AuthorizationProtocol,
  KeptAnswers,
  PendingAuthorization,
  ProtocolCounters,
  ProtocolDirectory,
  ProtocolKeys,
  ProtocolRecords,
  SessionCaller,
  SignInStore,
} from '../../core/authorization-server/ports.ts'
import type { TokenExchange } from '../../core/authorization-server/workloads/ports.ts'
import { listAt, textAt, toWireJson } from '../../core/kernel/json.ts'
import type { Log } from '../../core/kernel/log.ts'
import type { Call } from '../../core/kernel/principal.ts'
import type { Clock } from '../../core/kernel/clock.ts'
import type { Secret } from '../../core/kernel/secret.ts'
import { secret } from '../../core/kernel/secret.ts'
import { addedPrompt, configurationOf } from './configuration.ts'
import { makeDevices } from './devices.ts'
import { asPerson, grantTo, resourcesIn } from './grants.ts'
import { makeAnswerAgain, noteAnswers } from './kept-answers.ts'
import type { LibraryFetch } from './library-fetch.ts'
import type { ProtocolPages } from './pages.ts'
import type { RequestScope } from './request-scope.ts'
import { requestScope } from './request-scope.ts'
import { keepReports, reportSignOut } from './sign-out-reports.ts'
import { addTokenExchange } from './token-exchange.ts'

const issuerPath = '/oidc'
const metadata = '/.well-known/oauth-authorization-server'
const resourceMetadata = '/.well-known/oauth-protected-resource'
/** The paths that the protocol answers, from the root of the host (RFC 8414 §3.1, RFC 9728 §3.1). */
export const protocolRoots: readonly string[] = [issuerPath, `${metadata}${issuerPath}`, resourceMetadata]

export interface ProtocolDeps {
  readonly baseUrl: () => string
  readonly apiUrl: ApiUrl
  /** Returns the scopes that tokens for a resource can have; undefined if it is none of this service. */
  readonly scopesOfResource: (indicator: string) => readonly string[] | undefined
  readonly keys: ProtocolKeys
  readonly records: ProtocolRecords
  readonly directory: ProtocolDirectory
  readonly exchange: TokenExchange
  readonly pages: ProtocolPages
  readonly counters: ProtocolCounters
  readonly signIns: Pick<SignInStore, 'end' | 'removeReported'>
  readonly log: Log
  readonly clock: Clock
  readonly answers: KeptAnswers
  readonly digestOf: (text: string) => string
  readonly fetch: LibraryFetch
  readonly scopes: readonly string[]
  /** The scopes of access tokens of the API. */
  readonly apiScopes: readonly string[]
  readonly newAccessToken: () => string
  /** The cookie that binds a question to a browser, and a new value of it. */
  readonly browserCookie: { readonly name: string; readonly newValue: () => string; readonly pattern: RegExp }
  readonly bindingOf: (browserKey: Secret, id: string) => string
  /** Returns the person of a session; undefined if it is over. */
  readonly callerOf: (sessionKey: Secret, call: Call) => Promise<SessionCaller | undefined>
  readonly signOut: (caller: SessionCaller, call: Call) => Promise<void>
}

type Mounted = IncomingMessage & { originalUrl?: string }

/** The paths below the issuer to which browsers are sent. */
const isForBrowsers = (path: string): boolean => /^\/(?:auth|session)(?:\/|$)/.test(path)

const json = (res: ServerResponse, value: unknown): void => {
  res.writeHead(200, { 'Content-Type': 'application/json', 'Cache-Control': 'public, max-age=3600' })
  res.end(toWireJson(value))
}

/** Sends the browser to the page of this service that asks for the code of a device. */
const redirect = (res: ServerResponse, url: string): void => {
  res.writeHead(303, { Location: url, 'Cache-Control': 'no-store' })
  res.end()
}

/** Makes the query say `prompt=consent` where the library would drop `offline_access` without it. @internal */
export const withPrompt = (query: string): string => {
  const params = new URLSearchParams(query)
  const scopes = (params.get('scope') ?? '').split(' ')
  if (!scopes.includes('offline_access') || params.has('prompt')) return query
  params.set('prompt', 'consent')
  params.set(addedPrompt, 'yes')
  return `?${params.toString()}`
}

const instantOf = (seconds: number): Date => new Date(seconds * 1000)

/** Reads what an application asks a person. */
const pendingOf = ({ params, prompt, iat }: Interaction): PendingAuthorization => {
  const reasons = listAt(prompt, 'reasons')
  const asksAgain = ['login_prompt', 'id_token_hint', 'claims_id_token_sub_value'].some((each) =>
    reasons.includes(each),
  )
  const maxAge = Number(params['max_age'])
  const isTooOld = reasons.includes('max_age') && Number.isSafeInteger(maxAge)
  return {
    clientId: textAt(params, 'client_id'),
    scopes: textAt(params, 'scope').split(' '),
    resources: resourcesIn(params),
    signedInAfter: asksAgain ? instantOf(iat ?? 0) : isTooOld ? instantOf((iat ?? 0) - maxAge) : undefined,
    demandsConsent: textAt(params, 'prompt').split(' ').includes('consent') && textAt(params, addedPrompt) === '',
  }
}

const countRequests = (provider: Provider, { counters, log }: ProtocolDeps): void => {
  provider.on('grant.success', (ctx) => counters.request('token', textAt(ctx.oidc.params, 'grant_type')))
  provider.on('grant.error', (_, error) => counters.request('token', error.error))
  provider.on('authorization.success', () => counters.request('authorization', 'success'))
  provider.on('authorization.error', (_, error) => counters.request('authorization', error.error))
  provider.on('server_error', (_, error) => log.error({ error }, 'the authorization server failed'))
}

/** What makes the value of a token. It is part of no documented interface: a test of the flow fails without it. */
interface TokenClass {
  readonly prototype: { generateTokenId(): string }
}

/** Returns the library as set up for the keys in use, made again when they change. */
const makeProvider = (
  deps: ProtocolDeps,
): (() => Promise<{ provider: Provider; answer: ReturnType<Provider['callback']> }>) => {
  let made:
    | { readonly revision: string; readonly provider: Provider; readonly answer: ReturnType<Provider['callback']> }
    | undefined

  const questionUrl = (ctx: KoaContextWithOIDC, id: string): string => {
    const { browserCookie } = deps
    const name = ctx.secure ? `__Host-${browserCookie.name}` : browserCookie.name
    const sent = ctx.cookies.get(name, { signed: false })
    const value = sent !== undefined && browserCookie.pattern.test(sent) ? sent : browserCookie.newValue()
    ctx.cookies.set(name, value, { path: '/', httpOnly: true, sameSite: 'lax', signed: false, overwrite: true })
    const query = new URLSearchParams({ id, key: deps.bindingOf(secret(value), id) })
    return `${deps.baseUrl()}/authorize?${query.toString()}`
  }

  return async () => {
    const keys = await deps.keys.current()
    if (made?.revision === keys.revision) return made
    const issuer = `${deps.baseUrl()}${issuerPath}`
    const provider = new Provider(issuer, configurationOf({ ...deps, issuer, questionUrl }, keys))
    // The addresses that it writes are those of the issuer, whatever the request says.
    provider.proxy = true
    Object.assign(provider.Client.prototype, {
      async compareClientSecret(this: { readonly clientId: string }, presented: string): Promise<boolean> {
        const found = await deps.directory.secretOf(this.clientId, presented)
        // Its time ends without a change.
        if (found === 'former') requestScope.getStore()?.basis?.forgo()
        return found !== 'none'
      },
    })
    // Access tokens are those of the API.
    for (const { prototype } of [provider.AccessToken, provider.ClientCredentials] as unknown as TokenClass[]) {
      const decideFormat = prototype.generateTokenId
      prototype.generateTokenId = function generateTokenId() {
        decideFormat.call(this)
        return deps.newAccessToken()
      }
    }
    countRequests(provider, deps)
    keepReports(provider, deps)
    noteAnswers(provider, deps.clock)
    addTokenExchange(provider, deps.exchange)
    made = { revision: keys.revision, provider, answer: provider.callback() }
    return made
  }
}

/** Who asks. */
interface Asking {
  readonly sessionKey: Secret | undefined
  readonly call: Call
}

/** AuthorizationProtocol by oidc-provider, a certified implementation. */
export const makeOidcProtocol = (deps: ProtocolDeps): AuthorizationProtocol => {
  const current = makeProvider(deps)
  const answerAgain = makeAnswerAgain(deps)

  const answerByLibrary = async (
    req: Mounted,
    res: ServerResponse,
    { path, query }: { readonly path: string; readonly query: string },
    { sessionKey, call, basis }: Asking & Pick<RequestScope, 'basis'>,
  ): Promise<void> => {
    const { answer } = await current()
    const own = new URL(deps.baseUrl())
    Object.assign(req.headers, { 'x-forwarded-host': own.host, 'x-forwarded-proto': own.protocol.replace(':', '') })
    req.url = `${path}${path === '/auth' ? withPrompt(query) : query}`
    req.originalUrl = `${issuerPath}${req.url}`
    const caller = sessionKey !== undefined && isForBrowsers(path) ? await deps.callerOf(sessionKey, call) : undefined
    const scope = {
      caller,
      sourceIp: call.sourceIp,
      userAgent: call.userAgent ?? '',
      call,
      basis,
      applications: new Map(),
      signOut: caller !== undefined && path === '/session/end/confirm' ? () => deps.signOut(caller, call) : undefined,
    }
    await requestScope.run(scope, async () => {
      await answer(req, res)
      if (!res.writableFinished && !res.destroyed) await once(res, 'close')
    })
  }

  const answerBelow = async (
    req: Mounted,
    res: ServerResponse,
    path: string,
    { sessionKey, call }: Asking,
  ): Promise<void> => {
    const at = (req.url ?? '').indexOf('?')
    const query = at < 0 ? '' : (req.url ?? '').slice(at)
    if (path === '/device') return redirect(res, `${deps.baseUrl()}/device${query}`)
    res.setHeader('Content-Security-Policy', deps.pages.policy)
    await answerAgain(req, res, `${path}${query}`, async (basis) => {
      await answerByLibrary(req, res, { path, query }, { sessionKey, call, basis })
    })
  }

  const finish = async (interaction: Interaction, result: Interaction['result']): Promise<string> => {
    interaction.result = result
    await interaction.persist()
    return interaction.returnTo
  }

  const waiting = async (id: string): Promise<Interaction | undefined> => {
    const { provider } = await current()
    const found = await provider.Interaction.find(id)
    return found?.result === undefined ? found : undefined
  }

  return {
    async handle({ request, response, path, sessionKey, call }) {
      const [req, res] = [request as Mounted, response as ServerResponse]
      if (path.startsWith(resourceMetadata)) {
        const resource = deps.apiUrl()
        return json(res, {
          resource,
          authorization_servers: [`${deps.baseUrl()}${issuerPath}`],
          bearer_methods_supported: ['header'],
          scopes_supported: deps.apiScopes,
          resource_documentation: `${resource}/docs`,
        })
      }
      const below = path.startsWith(metadata) ? metadata : path.slice(issuerPath.length) || '/'
      await answerBelow(req, res, below, { sessionKey, call })
    },
    async pending(id) {
      const interaction = await waiting(id)
      return interaction === undefined ? undefined : pendingOf(interaction)
    },
    accept: (id, accepted) =>
      asPerson(accepted, async () => {
        const interaction = await waiting(id)
        if (interaction === undefined) return undefined
        const { provider } = await current()
        const grantId = await grantTo(provider, textAt(interaction.params, 'client_id'), accepted, interaction.grantId)
        const ts = Math.floor(accepted.signedInAt.getTime() / 1000)
        return finish(interaction, { login: { accountId: String(accepted.userId), ts }, consent: { grantId } })
      }),
    async refuse(id) {
      const interaction = await waiting(id)
      if (interaction === undefined) return undefined
      return finish(interaction, { error: 'access_denied', error_description: 'the person refused' })
    },
    reportSignOut: async (signIn) => reportSignOut((await current()).provider, signIn),
    ...makeDevices(async () => (await current()).provider),
  }
}
