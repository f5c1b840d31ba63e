import type { BenchService } from './service-process.ts'
import { adminName, adminPassword } from './service-process.ts'

interface Call {
  readonly method?: string
  readonly authorization: string
  readonly body?: unknown
}

/** One call of the bench's own preparations; anything but success fails with the answer's words. */
export async function callApi(service: Pick<BenchService, 'baseUrl'>, path: string, call: Call): Promise<unknown> {
  const answer = await fetch(`${service.baseUrl}/api/v1${path}`, {
    method: call.method ?? (call.body === undefined ? 'GET' : 'POST'),
    headers: {
      authorization: call.authorization,
      ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
  })
  const text = await answer.text()
  if (!answer.ok)
    throw new Error(`${call.method ?? 'call'} ${path} was answered ${answer.status}: ${text.slice(0, 500)}`)
  return text === '' ? undefined : (JSON.parse(text) as unknown)
}

const basic = (login: string, password: string): string =>
  `Basic ${Buffer.from(`${login}:${password}`).toString('base64')}`

const adminAuthorization = basic(adminName, adminPassword)

export interface BenchUser {
  readonly id: number
  readonly login: string
  readonly password: string
  readonly token: string
}

/** A user like any other, and a token of hers. */
export async function makeUser(service: Pick<BenchService, 'baseUrl'>, login: string): Promise<BenchUser> {
  const password = `bench passphrase of ${login}`
  const user = (await callApi(service, '/admin/users', {
    authorization: adminAuthorization,
    body: { username: login, email: `${login}@example.org`, password, full_name: 'Ada Lovelace' },
  })) as { id: number }
  return { id: user.id, login, password, token: await makeToken(service, login, password) }
}

export async function makeToken(
  service: Pick<BenchService, 'baseUrl'>,
  login: string,
  password: string,
): Promise<string> {
  const made = (await callApi(service, `/users/${login}/tokens`, {
    authorization: basic(login, password),
    body: { name: `bench ${process.hrtime.bigint()}` },
  })) as { sha1: string }
  return made.sha1
}

/** Records a cluster of the user; answers the path of its proxy. */
export async function importCluster(
  service: Pick<BenchService, 'baseUrl'>,
  user: BenchUser,
  name: string,
  kubeconfig: string,
): Promise<string> {
  await callApi(service, `/clustersv2/${user.login}/import`, {
    authorization: `Bearer ${user.token}`,
    body: { basicInfo: { name }, provider: { name: 'Generic', accessConfig: kubeconfig } },
  })
  return `/api/v1/clusters/${user.login}/${name}/proxy`
}

/** Connects an identity provider to the site, which creates accounts. Returns its id. */
export async function connectProvider(service: Pick<BenchService, 'baseUrl'>, issuer: string): Promise<number> {
  const made = (await callApi(service, '/accounts/admin/auths/new', {
    authorization: adminAuthorization,
    body: {
      name: 'bench',
      openIDConnectAutoDiscoveryURL: issuer,
      oauth2Key: 'moorage',
      oauth2Secret: 'a secret of the bench',
      allows_creation: true,
    },
  })) as { id: number }
  return made.id
}

/** An organization with a team for a group of its directory, and the token of the directory. */
export async function makeDirectory(
  service: Pick<BenchService, 'baseUrl'>,
  { token }: BenchUser,
): Promise<{ readonly org: string; readonly orgId: number; readonly teamId: number; readonly token: string }> {
  const org = 'bench-directory'
  const call = async (path: string, body: object) =>
    (await callApi(service, path, { authorization: `Bearer ${token}`, body })) as { id: number; sha1: string }
  const { id: orgId } = await call('/orgs', { username: org })
  const team = (name: string) => call(`/orgs/${org}/teams`, { name, permission: 'custom', type: '' })
  const [group, directory] = [await team('Group'), await team('Directory')]
  const permissions = [{ namespace: 'org_mgmt', action: 'provision accounts' }]
  await call(`/authz/roles?org=${org}`, { name: 'directory', permissions, teamIDs: [directory.id] })
  await call(`/orgs/${org}/robots`, { name: 'directory', team_ids: [directory.id] })
  const made = await call(`/orgs/${org}/robots/directory/tokens`, { name: 'first', scopes: ['write:provisioning'] })
  return { org, orgId, teamId: group.id, token: made.sha1 }
}
