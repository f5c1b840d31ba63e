import type { ServiceAnswer } from '../support/send-json.ts'
import type { ServiceOptions } from '../support/service.ts'
import type { ServiceFixture } from '../organizations/service-fixture.ts'
import { startFixture } from '../organizations/service-fixture.ts'

/** A running service with `acme` and `evil`, each with a directory that sends with the token of a robot account. */
export interface DirectoryFixture extends ServiceFixture {
  /** Sends as the directory of an organization; `path` is below the address of SCIM. */
  scim(
    org: string,
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<ServiceAnswer>
  /** The token of the robot account of a directory. */
  tokenOf(org: string): string
}

const userSchema = 'urn:ietf:params:scim:schemas:core:2.0:User'
const patchSchema = 'urn:ietf:params:scim:api:messages:2.0:PatchOp'

export const scimPath = (org: string): string => `/api/v1/scim/v2/organizations/${org}`

/** A user as Entra creates it. */
export const entraUser = (userName: string, more: object = {}): object => ({
  schemas: [userSchema, 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'],
  externalId: userName.split('@')[0],
  userName,
  active: true,
  displayName: `Display of ${userName}`,
  emails: [{ primary: true, type: 'work', value: userName }],
  meta: { resourceType: 'User' },
  name: { formatted: 'Given Family', familyName: 'Family', givenName: 'Given' },
  title: 'Engineer',
  ...more,
})

export const patch = (...operations: readonly object[]): object => ({ schemas: [patchSchema], Operations: operations })

export const groupOf = (displayName: string, members: readonly string[] = []): object => ({
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:Group'],
  displayName,
  members: members.map((value) => ({ value })),
})

export const startDirectoryFixture = async (options: ServiceOptions = {}): Promise<DirectoryFixture> => {
  const fixture = await startFixture(options)
  const tokens = new Map<string, string>()
  for (const [org, owner] of [
    ['acme', 'ada'],
    ['evil', 'eve'],
  ] as const) {
    const done = async (method: string, path: string, body?: unknown) => {
      const answer = await fixture.as(owner, method, path, body)
      if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`)
      return answer.json as { readonly id: number; readonly sha1: string }
    }
    const team = await done('POST', `/orgs/${org}/teams`, { name: 'Directory', permission: 'custom', type: '' })
    const permissions = [{ namespace: 'org_mgmt', action: 'provision accounts' }]
    await done('POST', `/authz/roles?org=${org}`, { name: 'directory', permissions, teamIDs: [team.id] })
    await done('POST', `/orgs/${org}/robots`, { name: 'directory', team_ids: [team.id] })
    const token = { name: 'first', scopes: ['write:provisioning'] }
    tokens.set(org, (await done('POST', `/orgs/${org}/robots/directory/tokens`, token)).sha1)
  }
  const tokenOf = (org: string): string => tokens.get(org) ?? ''
  return {
    ...fixture,
    tokenOf,
    scim: (org, method, path, body, headers = {}) =>
      fixture.service.send(method, scimPath(org) + path, {
        token: tokenOf(org),
        ...(body === undefined ? {} : { body }),
        headers: { ...(body === undefined ? {} : { 'Content-Type': 'application/scim+json' }), ...headers },
      }),
  }
}
