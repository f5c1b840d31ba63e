import type { IncomingMessage, ServerResponse } from 'node:http'
import type { KoaContextWithOIDC, Provider } from 'oidc-provider'
import type { KeptAnswers } from '../../core/authorization-server/ports.ts'
import type { Clock } from '../../core/kernel/clock.ts'
import { laterBySeconds } from '../../core/kernel/clock.ts'
import type { AccountId } from '../../core/kernel/ids.ts'
import { toWireJson } from '../../core/kernel/json.ts'
import type { AnswerBasis } from './request-scope.ts'
import { requestScope } from './request-scope.ts'

/** An answer is made again after this time: some rules of organizations begin at an instant. */
const keptSeconds = 60
/** The answer about a member of more organizations is not kept. */
const mostAccounts = 24
const longestBody = 4_096
const keptHeaders = [
  'content-type',
  'cache-control',
  'vary',
  'access-control-allow-origin',
  'access-control-expose-headers',
]

const makeBasis = (): AnswerBasis & { readonly accounts: () => readonly AccountId[] | undefined } => {
  const accounts = new Set<AccountId>()
  let isForgone = false
  return {
    answer: undefined,
    note: (account) => void (account !== undefined && accounts.add(account)),
    forgo: () => void (isForgone = true),
    accounts: () => (isForgone || accounts.size > mostAccounts ? undefined : [...accounts]),
  }
}

/** Resolves when more of the body is there, or none will come. */
const readableOrOver = (req: IncomingMessage): Promise<void> =>
  new Promise((resolve) => {
    const events = ['readable', 'close', 'error']
    const settle = (): void => {
      for (const event of events) req.removeListener(event, settle)
      resolve()
    }
    for (const event of events) req.on(event, settle)
  })

/** Reads the body of a request and puts it back; undefined if the client leaves before its end. */
const bodyOf = async (req: IncomingMessage, length: number): Promise<string | undefined> => {
  for (;;) {
    const chunk = req.read(length) as Buffer | null
    if (chunk !== null) {
      req.unshift(chunk)
      return chunk.length === length ? chunk.toString('latin1') : undefined
    }
    if (req.readableEnded || req.destroyed) return undefined
    await readableOrOver(req)
  }
}

/** Returns what tells two requests apart whose answers may differ; undefined if the answer is not kept. */
const requestText = async (req: IncomingMessage, url: string): Promise<string | undefined> => {
  const { authorization, origin, dpop, 'content-type': type, 'content-length': length } = req.headers
  if (authorization === undefined || origin !== undefined || dpop !== undefined) return undefined
  if (req.method === 'GET' && url === '/me') return type === undefined ? `${url}\n${authorization}` : undefined
  if (req.method !== 'POST' || url !== '/token/introspection' || type !== 'application/x-www-form-urlencoded')
    return undefined
  const size = Number(length)
  if (!Number.isSafeInteger(size) || size < 1 || size > longestBody) return undefined
  const body = await bodyOf(req, size)
  return body === undefined ? undefined : `${url}\n${authorization}\n${body}`
}

/** Notes the answers of the library about access tokens: their requests change nothing. */
export const noteAnswers = (provider: Provider, clock: Clock): void => {
  provider.use(async (ctx: KoaContextWithOIDC, next) => {
    await next()
    const basis = requestScope.getStore()?.basis
    if (basis === undefined || ctx.status !== 200) return
    const { AccessToken, ClientCredentials, Grant } = ctx.oidc.entities
    const token = AccessToken ?? ClientCredentials
    if (token === undefined) return
    const expires = [token.exp, Grant?.exp].filter((each) => each !== undefined)
    const headers = keptHeaders.flatMap((name) => {
      const value = ctx.response.get(name)
      return value === '' ? [] : [[name, value] as const]
    })
    const until = Math.min(laterBySeconds(clock.now(), keptSeconds).getTime(), ...expires.map((each) => each * 1000))
    basis.answer = { headers: Object.fromEntries(headers), body: toWireJson(ctx.body), until: new Date(until) }
  })
}

export interface KeptAnswerDeps {
  readonly answers: KeptAnswers
  readonly clock: Clock
  /** Returns a digest: what was sent is a secret. */
  readonly digestOf: (text: string) => string
}

/**
 * Returns what answers a request as an equal one was answered, or else has it answered by `work`. The answers are those
 * of the library, and are given again only while nothing has changed about the accounts on which they depend.
 */
export const makeAnswerAgain =
  ({ answers, clock, digestOf }: KeptAnswerDeps) =>
  async (
    req: IncomingMessage,
    res: ServerResponse,
    url: string,
    work: (basis: AnswerBasis | undefined) => Promise<void>,
  ): Promise<void> => {
    const text = await requestText(req, url)
    const moment = text === undefined ? undefined : await answers.moment()
    if (text === undefined || moment === undefined) return work(undefined)
    const key = digestOf(text)
    const kept = answers.recall(key, moment)
    if (kept !== undefined && clock.now() < kept.until) {
      res.writeHead(200, { ...kept.headers, 'content-length': Buffer.byteLength(kept.body) })
      res.end(kept.body)
      return
    }
    const basis = makeBasis()
    await work(basis)
    const accounts = basis.accounts()
    if (basis.answer !== undefined && accounts !== undefined) answers.keep(key, moment, basis.answer, accounts)
  }
