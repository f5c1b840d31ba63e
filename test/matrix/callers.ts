import type { PopulatedService } from '../support/populated-service.ts'
import { password } from '../support/populated-service.ts'
import type { Carrier, DescribeStatus } from './oracle.ts'

/** One way of sending one caller's credential. */
export interface Presented {
  readonly how: string
  readonly carrier: Carrier
  readonly headers: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
}

export interface Caller {
  readonly name: string
  readonly standing: DescribeStatus
  readonly presented: readonly Presented[]
}

const basic = (login: string, word: string): string => `Basic ${Buffer.from(`${login}:${word}`).toString('base64')}`

const asToken = (login: string, token: string, more: Pick<Partial<Presented>, 'query'> = {}): readonly Presented[] => {
  const query = more.query ?? {}
  const by = (how: string, headers: Presented['headers'], extra: Presented['query'] = {}): Presented => ({
    how,
    carrier: 'token',
    headers,
    query: { ...query, ...extra },
  })
  return [
    by('Authorization: token', { authorization: `token ${token}` }),
    by('Authorization: Bearer', { authorization: `Bearer ${token}` }),
    by('?token', {}, { token }),
    by('?access_token', {}, { access_token: token }),
    by('Basic user:token', { authorization: basic(login, token) }),
    by('Basic token:x-oauth-basic', { authorization: basic(token, 'x-oauth-basic') }),
    by('Basic token:', { authorization: basic(token, '') }),
  ]
}

const withSession = async (service: PopulatedService, login: string): Promise<Presented> => {
  const signedIn = await service.send('POST', '/api/v1/user/signin', {
    body: { username: login, password, remember: false },
  })
  if (signedIn.status !== 200) throw new Error(`${login} could not sign in: ${signedIn.status} ${signedIn.text}`)
  const cookies = [signedIn.headers['set-cookie'] ?? []].flat().map((line) => line.split(';')[0] ?? '')
  const csrf = cookies.find((cookie) => cookie.startsWith('_csrf='))?.slice('_csrf='.length) ?? ''
  return {
    how: 'session cookie',
    carrier: 'session',
    headers: { cookie: cookies.join('; '), 'x-csrf-token': decodeURIComponent(csrf) },
    query: {},
  }
}

const withPassword = (login: string): Presented => ({
  how: 'Basic user:password',
  carrier: 'password',
  headers: { authorization: basic(login, password) },
  query: {},
})

const ordinary = { isSiteAdmin: false, actsAsAnother: false, scopes: undefined, isValid: true } as const
const levels: Readonly<Record<'olga' | 'vera' | 'eddie' | 'alice', DescribeStatus['level']>> = {
  olga: undefined,
  vera: 'read',
  eddie: 'write',
  alice: 'owner',
}

const person = async (service: PopulatedService, login: keyof typeof levels): Promise<Caller> => ({
  name: login,
  standing: { ...ordinary, level: levels[login] },
  presented: [...asToken(login, await service.tokenFor(login)), await withSession(service, login), withPassword(login)],
})

const limited = async (service: PopulatedService, name: string, scopes: readonly string[]): Promise<Caller> => ({
  name,
  standing: { ...ordinary, level: 'owner', scopes },
  presented: asToken('alice', await service.tokenFor('alice', scopes)),
})

const categories = ['user', 'organization', 'authz', 'cluster', 'contract', 'billing', 'marketplace', 'admin', 'misc']

/** Everybody who calls in the matrix, with every carrier that is theirs. */
export const callers = async (service: PopulatedService): Promise<readonly Caller[]> => {
  const expiring = await service.tokenFor('alice')
  await service.write(
    'update access_tokens set expires_at = ? where id = (select max(id) from access_tokens)',
    Date.now() - 60_000,
  )
  const disabled = await service.tokenFor('dora')
  const edited = await service.send('PATCH', '/api/v1/admin/users/dora', {
    token: service.adminToken,
    body: { active: false },
  })
  if (edited.status !== 200) throw new Error(`dora could not be disabled: ${edited.text}`)
  const admin = { ...ordinary, level: undefined, isSiteAdmin: true }
  return [
    {
      name: 'anonymous',
      standing: { ...ordinary, level: undefined },
      presented: [{ how: 'nothing', carrier: 'none', headers: {}, query: {} }],
    },
    await person(service, 'olga'),
    await person(service, 'vera'),
    await person(service, 'eddie'),
    await person(service, 'alice'),
    { name: 'site admin', standing: admin, presented: asToken('admin', service.adminToken) },
    {
      name: 'site admin as vera',
      standing: { ...ordinary, level: 'read', actsAsAnother: true },
      presented: asToken('admin', service.adminToken, { query: { sudo: 'vera' } }),
    },
    await limited(
      service,
      "alice's read-only token",
      categories.map((category) => `read:${category}`),
    ),
    await limited(service, "alice's token for nothing here", ['write:marketplace']),
    {
      name: 'disabled user',
      standing: { ...ordinary, level: undefined, isValid: false },
      presented: asToken('dora', disabled),
    },
    {
      name: 'expired token',
      standing: { ...ordinary, level: undefined, isValid: false },
      presented: asToken('alice', expiring),
    },
    {
      name: 'truncated token',
      standing: { ...ordinary, level: undefined, isValid: false },
      presented: asToken('alice', service.adminToken.slice(0, -1)).slice(0, 4),
    },
  ]
}

/** Two genuine credentials of two people in one request. */
export const conflicting = (one: string, other: string, session: Presented): readonly Presented[] => [
  {
    how: 'token and session cookie',
    carrier: 'token',
    headers: { ...session.headers, authorization: `token ${one}` },
    query: {},
  },
  { how: 'query and session cookie', carrier: 'token', headers: session.headers, query: { token: one } },
  { how: 'header and query', carrier: 'token', headers: { authorization: `token ${one}` }, query: { token: other } },
  { how: 'token and access_token', carrier: 'token', headers: {}, query: { token: one, access_token: other } },
]
