import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { commandLineClientId } from '../../../core/authorization-server/types.ts'
import { textAt } from '../../../core/kernel/json.ts'
import type { CommandContext } from '../../part/command-context.ts'
import { printable } from '../../part/command-context.ts'
import { readIssuer, sendForm } from '../../part/saved-logins.ts'

/** How long the person may take. */
const patienceMs = 300_000

export interface LoginServer {
  readonly server: string
  readonly caFile?: string | undefined
}
/** The tokens of a sign-in, or why there are none. */
export type SignedIn = { readonly tokens: unknown } | { readonly problem: string }

/** Answers the browser with text only: nothing on the page can run or send what its address has. */
const say = (res: ServerResponse, status: number, text: string): Promise<void> => {
  res.writeHead(status, {
    'Content-Type': 'text/plain; charset=utf-8',
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'no-referrer',
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
    'X-Content-Type-Options': 'nosniff',
    Connection: 'close',
  })
  return new Promise((resolve) => void res.end(`${text}\n`, resolve))
}

/**
 * Signs the person in by the browser of this machine, which the server sends back to a port of loopback (RFC 8252, with
 * PKCE). Resolves to undefined if no browser opens, or the server calls itself by another address.
 */
export const signInByBrowser = async (
  context: CommandContext,
  at: LoginServer,
  scope: string,
  waitMs: number = patienceMs,
): Promise<SignedIn | undefined> => {
  const issuer = `${at.server}/oidc`
  // A code for another issuer must not be sent to this server (RFC 9700 §4.4).
  if (context.openBrowser === undefined || (await readIssuer(at)) !== issuer) return undefined
  // Loaded here: no other command needs it.
  const oauth = await import('openid-client')
  const [state, verifier] = [oauth.randomState(), oauth.randomPKCECodeVerifier()]
  let redirectUri = ''

  const redeem = async (query: URLSearchParams): Promise<SignedIn> => {
    if (query.get('iss') !== issuer) return { problem: 'The answer came from another server.' }
    const error = query.get('error')
    if (error !== null)
      return { problem: error === 'access_denied' ? 'You refused on the page.' : `The server answered ${error}.` }
    const { status, json } = await sendForm(at, '/token', {
      grant_type: 'authorization_code',
      code: query.get('code') ?? '',
      redirect_uri: redirectUri,
      code_verifier: verifier,
    })
    return status === 200 ? { tokens: json } : { problem: `The server answered ${textAt(json, 'error') || status}.` }
  }

  const result = Promise.withResolvers<SignedIn>()
  // It may fail while the browser opens, before it is awaited.
  result.promise.catch(() => undefined)
  let isAnswered = false
  const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const url = new URL(req.url ?? '/', redirectUri)
    // Other pages and programs of this machine may send requests too. They do not know the state.
    if (isAnswered || req.method !== 'GET' || url.pathname !== '/' || url.searchParams.get('state') !== state)
      return say(res, 400, 'This is not the sign-in that moorage waits for.')
    isAnswered = true
    const signedIn = await redeem(url.searchParams)
    await say(res, 200, 'problem' in signedIn ? signedIn.problem : 'You are signed in. Close this window.')
    result.resolve(signedIn)
  }
  const listener = createServer((req, res) => void answer(req, res).catch(result.reject))
  await new Promise<void>((resolve, reject) => listener.once('error', reject).listen(0, '127.0.0.1', resolve))
  redirectUri = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/`
  const timer = setTimeout(
    () => result.resolve({ problem: 'Nothing was answered on the page in time. Run moorage login again.' }),
    waitMs,
  )
  const request = new URLSearchParams({
    client_id: commandLineClientId,
    response_type: 'code',
    redirect_uri: redirectUri,
    scope,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  })
  const page = `${issuer}/auth?${request.toString()}`
  try {
    if (!(await context.openBrowser(page))) return undefined
    context.say('Sign in on the page in your browser. If none opens, open this address on this machine:')
    context.say(`  ${printable(page)}`)
    return await result.promise
  } finally {
    clearTimeout(timer)
    listener.close()
    listener.closeAllConnections()
  }
}
