import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ServiceAnswer } from '../support/send-json.ts'
import type { TestService } from '../support/service.ts'

/** One request that must answer with this status. */
export const expectStatus = async (answer: Promise<ServiceAnswer>, status: number): Promise<ServiceAnswer> => {
  const got = await answer
  if (got.status !== status) throw new Error(`expected ${status}, got ${got.status}: ${got.text}`)
  return got
}

export const peoplesPassword = 'quiet-harbour-lantern-7'

export interface Person {
  readonly login: string
  readonly token: string
}

/** People, organizations and teams, made through the service's own routes. */
export const makePeople = (service: TestService) => {
  const { send } = service
  const admin = { token: service.adminToken }
  const unique = (): string => randomBytes(4).toString('hex')
  return {
    person: async (name: string): Promise<Person> => {
      const login = `${name}-${unique()}`
      const body = {
        username: login,
        email: `${login}@example.com`,
        password: peoplesPassword,
        must_change_password: false,
      }
      await expectStatus(send('POST', '/api/v1/admin/users', { ...admin, body }), 201)
      return { login, token: await service.tokenFor(login) }
    },
    organization: async (owner: Person): Promise<string> => {
      const username = `org-${unique()}`
      await expectStatus(send('POST', '/api/v1/orgs', { token: owner.token, body: { username } }), 201)
      return username
    },
    /** A team whose members hold what the custom role gives. Answers the ids of both. */
    teamWithRole: async (
      owner: Person,
      org: string,
      members: readonly Person[],
      permissions: readonly { namespace: string; action: string }[],
    ) => {
      const role = await expectStatus(
        send('POST', `/api/v1/authz/roles?org=${org}`, {
          token: owner.token,
          body: { name: `role ${unique()}`, description: '', permissions },
        }),
        201,
      )
      const roleId = role.json.id as number
      const team = await expectStatus(
        send('POST', `/api/v1/orgs/${org}/teams`, {
          token: owner.token,
          body: { name: `team-${unique()}`, permission: 'custom', assignedRoleIDs: [roleId] },
        }),
        201,
      )
      const teamId = team.json.id as number
      for (const member of members)
        await expectStatus(send('PUT', `/api/v1/teams/${teamId}/members/${member.login}`, { token: owner.token }), 204)
      return { roleId, teamId }
    },
  }
}

/** Imports a cluster by its kubeconfig. */
export const importCluster = async (
  send: TestService['send'],
  token: string,
  owner: string,
  name: string,
  accessConfig: string,
  basicInfo: object = {},
): Promise<ServiceAnswer> =>
  send('POST', `/api/v1/clustersv2/${owner}/import`, {
    token,
    body: { basicInfo: { name, ...basicInfo }, provider: { accessConfig } },
  })

/** The service's own client-config in a file, as it is. */
export const clientKubeconfig = async (
  service: TestService,
  person: Person,
  owner: string,
  name: string,
): Promise<{ path: string; remove: () => void }> => {
  const answer = await expectStatus(
    service.send('GET', `/api/v1/clusters/${owner}/${name}/client-config`, { token: person.token }),
    200,
  )
  const folder = mkdtempSync(join(tmpdir(), 'moorage-kubeconfig-'))
  const path = join(folder, 'config')
  writeFileSync(path, answer.json as string, { mode: 0o600 })
  return { path, remove: () => rmSync(folder, { recursive: true, force: true }) }
}
