import { readFileSync } from 'node:fs'
import type { ApiClient } from '../../adapters/api-client/undici-api-client.ts'
import { makeUndiciApiClient } from '../../adapters/api-client/undici-api-client.ts'
import type { Client } from '../../plugins/kit/client.ts'
import { makeClient } from '../../plugins/kit/client.ts'
import type { CommandContext, ExitCode } from './command-context.ts'
import { printable } from './command-context.ts'
import { definedFields } from '../../core/kernel/json.ts'
import { savedAccessToken } from './saved-logins.ts'

/** Options of the commands that call a running server. */
export interface ServerOptions {
  readonly server?: string
  readonly tokenFile?: string
  readonly caFile?: string
  readonly json?: boolean
}

export interface TaskServer {
  readonly client: Client
  readonly api: ApiClient
  readonly url: string
  /** The access token of the caller. */
  readonly token: string
}

const defaultServer = 'http://127.0.0.1:3000'

/**
 * Calls `work` with the server that the options name. Returns 2 without a credential, 1 when the server cannot be
 * reached.
 */
export const onServer = async (
  context: CommandContext,
  options: ServerOptions,
  work: (server: TaskServer) => Promise<ExitCode>,
): Promise<ExitCode> => {
  const url = serverOf(context, options)
  if (url === undefined) return 2
  const token = await credentialAt(context, options, url)
  if (token === undefined) {
    context.say(
      'No access token. Sign in with moorage login, set MOORAGE_TOKEN to an access token, or name a file that holds one with ' +
        '--token-file.',
    )
    return 2
  }
  const headers = { authorization: `Bearer ${token}` }
  const api = makeUndiciApiClient({ server: url, headers, ...definedFields({ caFile: options.caFile }) })
  try {
    return await work({ client: makeClient(api.send), api, url, token })
  } catch (error) {
    context.say(unreachable(url, error))
    return 1
  } finally {
    await api.close()
  }
}

/** Returns the address of the server without a trailing slash; undefined, after a message, if it is none. */
export const serverOf = (context: CommandContext, options: ServerOptions): string | undefined => {
  const url = options.server ?? context.environment['MOORAGE_SERVER'] ?? defaultServer
  if (/^https?:\/\//.test(url) && URL.canParse(url)) return url.replace(/\/+$/, '')
  context.say(`--server takes a URL as https://moorage.example.com, not ${url}.`)
  return undefined
}

/** Returns the access token that the person names, else that of the login at the server. */
const credentialAt = async (
  context: CommandContext,
  options: ServerOptions,
  url: string,
): Promise<string | undefined> => {
  const token = tokenOf(context, options)
  if (token !== undefined) return token
  try {
    return await savedAccessToken(context, url, options.caFile)
  } catch {
    return undefined
  }
}

/** Prints why the server refused. Returns the exit code. */
export const told = (context: CommandContext, message: string): ExitCode => {
  context.say(printable(message))
  return 1
}

/** Returns a readable message about a server that does not answer. */
export const unreachable = (url: string, error: unknown): string => {
  const { code, message, cause } = error as { code?: string; message?: string; cause?: { code?: string } }
  const reason = cause?.code ?? code ?? message ?? 'for an unknown reason'
  const hint = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY/.test(reason) ? ' Name the certificate to trust with --ca-file.' : ''
  return `${url} does not answer (${reason}). Check --server, and that the service runs.${hint}`
}

const tokenOf = ({ environment }: CommandContext, { tokenFile }: ServerOptions): string | undefined => {
  const text = tokenFile === undefined ? environment['MOORAGE_TOKEN'] : readFileSync(tokenFile, 'utf8')
  return text === undefined || text.trim() === '' ? undefined : text.trim()
}
