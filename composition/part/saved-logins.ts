import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { isRight } from 'fp-ts/lib/Either.js'
import * as t from 'io-ts'
import { makeUndiciApiClient } from '../../adapters/api-client/undici-api-client.ts'
import { commandLineClientId } from '../../core/authorization-server/types.ts'
import { definedFields, fromWireJson, textAt, toWireJson } from '../../core/kernel/json.ts'
import type { CommandContext } from './command-context.ts'

const SavedLogin = t.type({ accessToken: t.string, refreshToken: t.string, expiresAt: t.string })
const SavedLogins = t.record(t.string, SavedLogin)
type SavedLogin = t.TypeOf<typeof SavedLogin>
type SavedLogins = Readonly<Record<string, SavedLogin>>

/** An access token that expires sooner than this is renewed. */
const leastMs = 60_000
/** A lock of a process that ended is broken after this time. A renewal takes far less. */
const staleMs = 30_000
const lookMs = 50

const folderOf = ({ environment }: CommandContext): string =>
  join(environment['XDG_CONFIG_HOME'] ?? join(environment['HOME'] ?? homedir(), '.config'), 'moorage')
const fileOf = (context: CommandContext): string => join(folderOf(context), 'logins.json')

const read = (context: CommandContext): SavedLogins => {
  try {
    const found = SavedLogins.decode(fromWireJson(readFileSync(fileOf(context), 'utf8')))
    return isRight(found) ? found.right : {}
  } catch {
    return {}
  }
}

/** Replaces the file in one step: a process that reads it finds all of the one or all of the other. */
const write = (context: CommandContext, logins: SavedLogins): void => {
  const path = fileOf(context)
  writeFileSync(`${path}.${process.pid}`, toWireJson(logins, 2), { mode: 0o600 })
  renameSync(`${path}.${process.pid}`, path)
}

const take = (lock: string): boolean => {
  try {
    mkdirSync(lock)
    return true
  } catch {
    return false
  }
}

const isStale = (lock: string): boolean => {
  try {
    return Date.now() - statSync(lock).mtimeMs > staleMs
  } catch {
    return false
  }
}

/**
 * Runs work that only one process does at a time. A refresh token is used once: two processes that use one would end
 * the login.
 */
const alone = async <A>(context: CommandContext, work: () => Promise<A>): Promise<A> => {
  mkdirSync(folderOf(context), { recursive: true, mode: 0o700 })
  const lock = `${fileOf(context)}.lock`
  while (!take(lock)) {
    if (isStale(lock)) rmSync(lock, { recursive: true, force: true })
    else await pause(lookMs)
  }
  try {
    return await work()
  } finally {
    rmSync(lock, { recursive: true, force: true })
  }
}

/** An answer of the authorization server. */
export interface ProtocolAnswer {
  readonly status: number
  readonly json: unknown
}

/** Returns the issuer that a server says it is (RFC 8414 §3); empty if it has none. */
export const readIssuer = async ({
  server,
  caFile,
}: {
  readonly server: string
  readonly caFile?: string | undefined
}): Promise<string> => {
  const api = makeUndiciApiClient({ server, headers: { 'user-agent': 'moorage' }, ...definedFields({ caFile }) })
  try {
    const reply = await api.send({
      method: 'GET',
      path: '/oidc/.well-known/openid-configuration',
      headers: {},
      body: undefined,
    })
    return reply.status === 200 ? textAt(fromWireJson(reply.body), 'issuer') : ''
  } finally {
    await api.close()
  }
}

/** Sends a form to an endpoint below the issuer of a server. */
export const sendForm = async (
  { server, caFile }: { readonly server: string; readonly caFile?: string | undefined },
  path: string,
  fields: Readonly<Record<string, string>>,
): Promise<ProtocolAnswer> => {
  const headers = { 'content-type': 'application/x-www-form-urlencoded', 'user-agent': 'moorage' }
  const api = makeUndiciApiClient({ server, headers, ...definedFields({ caFile }) })
  try {
    const body = new URLSearchParams({ client_id: commandLineClientId, ...fields }).toString()
    const reply = await api.send({ method: 'POST', path: `/oidc${path}`, headers: {}, body })
    const isJson = String(reply.headers['content-type'] ?? '').includes('json')
    return { status: reply.status, json: isJson ? fromWireJson(reply.body) : undefined }
  } finally {
    await api.close()
  }
}

const loginOf = (answer: unknown): SavedLogin => ({
  accessToken: textAt(answer, 'access_token'),
  refreshToken: textAt(answer, 'refresh_token'),
  expiresAt: new Date(
    Date.now() + 1000 * Number((answer as { readonly expires_in?: unknown }).expires_in ?? 0),
  ).toISOString(),
})

/** Keeps the tokens of a login, readable by the user alone. */
export const keepLogin = (context: CommandContext, server: string, answer: unknown): Promise<void> =>
  alone(context, async () => write(context, { ...read(context), [server]: loginOf(answer) }))

/** Forgets the login at a server. Returns its refresh token; undefined if there was none. */
export const forgetLogin = (context: CommandContext, server: string): Promise<string | undefined> =>
  alone(context, async () => {
    const { [server]: login, ...others } = read(context)
    if (login !== undefined) write(context, others)
    return login?.refreshToken
  })

const isFresh = ({ expiresAt }: SavedLogin): boolean => new Date(expiresAt).getTime() - Date.now() > leastMs

/** Returns an access token of the login at a server, renewed if it must be; undefined if there is no login. */
export const savedAccessToken = async (
  context: CommandContext,
  server: string,
  caFile: string | undefined,
): Promise<string | undefined> => {
  const first = read(context)[server]
  if (first === undefined || isFresh(first)) return first?.accessToken
  return alone(context, async () => {
    const login = read(context)[server]
    // Another process may have renewed it while this one waited.
    if (login === undefined || isFresh(login)) return login?.accessToken
    const sent = { grant_type: 'refresh_token', refresh_token: login.refreshToken }
    const { status, json } = await sendForm({ server, caFile }, '/token', sent)
    if (status === 200) {
      write(context, { ...read(context), [server]: loginOf(json) })
      return textAt(json, 'access_token')
    }
    if (textAt(json, 'error') !== 'invalid_grant') return login.accessToken
    const { [server]: _over, ...others } = read(context)
    write(context, others)
    return undefined
  })
}
