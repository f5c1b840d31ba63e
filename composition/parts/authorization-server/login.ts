import { setTimeout as pause } from 'node:timers/promises'
import { scopeCategories } from '../../../core/kernel/principal.ts'
import { textAt } from '../../../core/kernel/json.ts'
import { getCaller } from '../../../plugins/identity/accounts/users.routes.ts'
import type { CommandContext, ExitCode } from '../../part/command-context.ts'
import { printable, printJson } from '../../part/command-context.ts'
import { forgetLogin, keepLogin, sendForm } from '../../part/saved-logins.ts'
import type { ServerOptions } from '../../part/server-connection.ts'
import type { LoginServer, SignedIn } from './browser-login.ts'
import { signInByBrowser } from './browser-login.ts'
import { onServer, serverOf, told, unreachable } from '../../part/server-connection.ts'

/** Clients ask for the answer of a person no more often, unless the server says so (RFC 8628 §3.5). */
const pollMs = 5_000
const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'

/** All that the commands of this program do in the name of a person; nothing of the administration of a site. */
const scope = [
  'openid',
  'offline_access',
  ...scopeCategories.filter((category) => category !== 'admin').map((category) => `write:${category}`),
].join(' ')

/** Waits until the person has answered on the page. Returns the tokens, or why there are none. */
const answerOf = async (at: LoginServer, deviceCode: string, everyMs: number): Promise<SignedIn> => {
  let wait = everyMs
  for (;;) {
    await pause(wait)
    const { status, json } = await sendForm(at, '/token', { grant_type: deviceGrant, device_code: deviceCode })
    if (status === 200) return { tokens: json }
    const error = textAt(json, 'error')
    if (error === 'slow_down') wait += pollMs
    else if (error === 'access_denied') return { problem: 'You refused on the page.' }
    else if (error === 'expired_token') return { problem: 'The code is over. Run moorage login again.' }
    else if (error !== 'authorization_pending') return { problem: `The server answered ${error || status}.` }
  }
}

/** Signs the person in by a code that is allowed on a page of the server, on any device. */
const signInByDevice = async (context: CommandContext, at: LoginServer, everyMs: number): Promise<SignedIn> => {
  const { status, json } = await sendForm(at, '/device/auth', { scope })
  if (status !== 200) {
    const reason = textAt(json, 'error_description') || status
    return { problem: `${at.server} has no authorization server, or refused this program (${reason}).` }
  }
  const address = textAt(json, 'verification_uri_complete')
  context.say(`Open this page, and allow the program if it shows the code ${textAt(json, 'user_code')}:`)
  context.say(`  ${printable(address)}`)
  return answerOf(at, textAt(json, 'device_code'), everyMs)
}

export interface LoginOptions extends ServerOptions {
  /** Show a code, and open no browser. */
  readonly device?: boolean
}

/** Signs the person in at a server by the browser of this machine, or else by a code, and keeps the login. */
export const login = async (
  context: CommandContext,
  options: LoginOptions,
  everyMs: number = pollMs,
): Promise<ExitCode> => {
  const server = serverOf(context, options)
  if (server === undefined) return 2
  const at = { server, caFile: options.caFile }
  try {
    const byBrowser = options.device === true ? undefined : await signInByBrowser(context, at, scope)
    const signedIn = byBrowser ?? (await signInByDevice(context, at, everyMs))
    if ('problem' in signedIn) return told(context, signedIn.problem)
    await keepLogin(context, server, signedIn.tokens)
  } catch (error) {
    return told(context, unreachable(server, error))
  }
  return whoAmI(context, options)
}

/** Ends the login at a server, there and here. */
export const logout = async (context: CommandContext, options: ServerOptions): Promise<ExitCode> => {
  const server = serverOf(context, options)
  if (server === undefined) return 2
  const token = await forgetLogin(context, server)
  if (token === undefined) return told(context, `There is no login at ${server}.`)
  try {
    const { status } = await sendForm({ server, caFile: options.caFile }, '/token/revocation', { token })
    if (status !== 200) return told(context, `The login is removed here. ${server} answered ${status}.`)
  } catch (error) {
    return told(context, `The login is removed here, and not at the server. ${unreachable(server, error)}`)
  }
  context.say(`Signed out of ${server}.`)
  return 0
}

/** Prints who the server takes the person for. */
export const whoAmI = (context: CommandContext, options: ServerOptions): Promise<ExitCode> =>
  onServer(context, options, async ({ client, url }) => {
    const answer = await client.call(getCaller, {})
    if (!answer.ok) return told(context, answer.error.message)
    const { login: user } = answer.value as { readonly login: string }
    if (options.json === true) printJson(context, { login: user, server: url })
    else context.print(`${printable(user)} at ${url}`)
    return 0
  })
