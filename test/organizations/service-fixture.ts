import { Redirect } from '../../plugins/kit/reply.ts'
import type { OrganizationBody } from '../../plugins/organizations/codecs.ts'
import { getOrganization } from '../../plugins/organizations/organizations/organizations.routes.ts'
import type { ServiceAnswer, SendOptions } from '../support/send-json.ts'
import type { ServiceOptions, TestService } from '../support/service.ts'
import { startService } from '../support/service.ts'
import type { TypedCall } from '../support/client-as.ts'
import { makeTypedCall } from '../support/client-as.ts'

const api = '/api/v1'

/** The keys of a team that cases look at. */
interface ShownTeam {
  readonly id: number
  readonly name: string
  readonly permission: string
  readonly type: string
  readonly organization: { readonly username: string }
}

/** A running service with an organization `acme` (private), one person for each level of it, and outsiders. */
export interface ServiceFixture {
  readonly service: TestService
  /** Sends as a person (`admin` is the site admin), or without a credential; `path` is below `/api/v1`. */
  as(
    login: string | undefined,
    method: string,
    path: string,
    body?: unknown,
    options?: SendOptions,
  ): Promise<ServiceAnswer>
  /** Calls a declared route as a person, who gets the declared success. */
  readonly call: TypedCall
  idOf(login: string): number
  /** Lets `as` and `call` send as a person who was made since. */
  adopt(login: string): Promise<void>
  /** The id of a team of acme, by name. */
  teamId(name: string): Promise<number>
  stop(): Promise<void>
}

/**
 * Ada owns acme; Adam is admin, Ed editor, Vic viewer; Cleo has only a custom role; Eve owns `evil`; Sam is nobody
 * anywhere.
 */
const people = ['ada', 'adam', 'ed', 'vic', 'cleo', 'eve', 'sam'] as const

/** What Cleo's role carries. */
const roleOfCleo = ['view teams', 'add team members', 'view members', 'add members', 'edit teams', 'create teams']

export const startFixture = async (options: ServiceOptions = {}): Promise<ServiceFixture> => {
  const service = await startService(options)
  const tokens = new Map<string, string>([['admin', service.adminToken]])
  const ids = new Map<string, number>()
  const as: ServiceFixture['as'] = (login, method, path, body, extra = {}) => {
    const token = login === undefined ? undefined : tokens.get(login)
    return service.send(method, api + path, {
      ...(token === undefined ? {} : { token }),
      ...(body === undefined ? {} : { body }),
      ...extra,
    })
  }
  const done = async (...[login, method, path, body]: Parameters<ServiceFixture['as']>): Promise<ServiceAnswer> => {
    const answer = await as(login, method, path, body)
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`)
    return answer
  }
  const teamId = async (name: string): Promise<number> => {
    const { json } = await done('admin', 'GET', '/orgs/acme/teams')
    return (json as readonly ShownTeam[]).find((team) => team.name === name)?.id ?? 0
  }
  for (const login of people) {
    const user = {
      username: login,
      email: `${login}@example.org`,
      password: 'a long passphrase of ours',
      must_change_password: false,
    }
    ids.set(login, (await done('admin', 'POST', '/admin/users', user)).json.id)
    tokens.set(login, await service.tokenFor(login))
  }
  await done('ada', 'POST', '/orgs', { username: 'acme', visibility: 'private', email: 'ada@example.org' })
  await done('eve', 'POST', '/orgs', { username: 'evil', visibility: 'public', email: 'eve@example.org' })
  await done('ada', 'POST', '/orgs/acme/teams', { name: 'Admins', permission: 'admin', type: 'kubernetes' })
  const permissions = roleOfCleo.map((action) => ({ namespace: 'org_mgmt', action }))
  const helpers = (await done('ada', 'POST', '/orgs/acme/teams', { name: 'Helpers', permission: 'custom', type: '' }))
    .json.id
  await done('ada', 'POST', '/authz/roles?org=acme', { name: 'helping', permissions, teamIDs: [helpers] })
  const places = { Admins: 'adam', Editors: 'ed', Viewers: 'vic', Helpers: 'cleo' }
  for (const [team, login] of Object.entries(places))
    await done('ada', 'PUT', `/teams/${await teamId(team)}/members/${login}`)
  const adopt = async (login: string): Promise<void> => {
    ids.set(login, (await done('admin', 'GET', `/users/${login}`)).json.id)
    tokens.set(login, await service.tokenFor(login))
  }
  const call = makeTypedCall(service, (login) => tokens.get(login))
  return { service, as, call, idOf: (login) => ids.get(login) ?? 0, adopt, teamId, stop: () => service.stop() }
}

/** The parameters of a route of acme. */
export const acme = { orgname: 'acme' } as const

/** An organization as a person sees it, with its row version. */
export const readOrganization = async (
  { call }: ServiceFixture,
  login: string,
  orgname: string,
): Promise<{ readonly value: OrganizationBody; readonly version: number }> => {
  const { value } = await call(login, getOrganization, { params: { orgname } })
  if (value instanceof Redirect) throw new Error(`${orgname} is now at ${value.path}`)
  return value
}
