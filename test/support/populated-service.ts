import { isLeft } from 'fp-ts/lib/Either.js'
import { makeSealCredential } from '../../core/clusters/connections.ts'
import { ClusterStoreToken, CredentialCodecToken } from '../../core/clusters/ports.ts'
import type { AccountId } from '../../core/kernel/ids.ts'
import { EntropyToken, secret, SecretBoxToken } from '../../core/kernel/secret.ts'
import { migratedSqlitePath } from './databases.ts'
import { plantContract, type PlantedContract } from './plant-contract.ts'
import { plantLicenseAuthority } from './plant-license-authority.ts'
import { plantUsage } from './plant-usage.ts'
import type { ServiceAnswer } from './send-json.ts'
import type { TestService } from './service.ts'
import { startService } from './service.ts'
import { readSqliteFile, writeSqliteFile } from './sqlite-file.ts'

/** People by what they are to the organization `harbour`. */
const people = ['olga', 'vera', 'eddie', 'alice', 'dora'] as const
export type Person = (typeof people)[number]
export const password = 'quiet-lantern-over-water-17'

/** Names and ids that requests can use. */
export interface Populated extends PlantedContract {
  readonly org: string
  readonly orgId: number
  readonly hiddenOrg: string
  readonly cluster: string
  readonly teamIds: Readonly<Record<'Owners' | 'Editors' | 'Viewers', number>>
  readonly roleId: number
  /** A robot account of the organization. */
  readonly robot: string
  /** A named chart repository of the organization; nothing may be asked where it stands. */
  readonly repository: string
  readonly userIds: Readonly<Record<Person, number>>
}

export interface PopulatedService extends TestService {
  readonly world: Populated
  readonly databasePath: string
  /** The rows that a statement reads from the database behind the service's back. */
  rows(statement: string, ...binds: readonly unknown[]): readonly Record<string, unknown>[]
  /** Runs a statement that writes to the database behind the service's back. */
  write(statement: string, ...binds: readonly unknown[]): Promise<void>
}

const must = async (what: string, answer: Promise<ServiceAnswer>): Promise<ServiceAnswer> => {
  const { status, text, ...rest } = await answer
  if (status >= 300) throw new Error(`${what}: ${status} ${text}`)
  return { status, text, ...rest }
}

const addPeople = async (service: TestService): Promise<Record<Person, number>> => {
  const ids = {} as Record<Person, number>
  for (const username of people) {
    const body = { username, email: `${username}@example.com`, password, must_change_password: false }
    const { json } = await must(
      username,
      service.send('POST', '/api/v1/admin/users', { token: service.adminToken, body }),
    )
    ids[username] = (json as { id: number }).id
  }
  return ids
}

/** The UID of the namespace kube-system of the cluster. */
export const populatedClusterUid = '7a0c3ce4-52a5-4d8d-9a3f-0a4f2b1f0c11'

/** Recorded as if it had been imported; its address answers nobody. */
/** The bearer token in the sealed credential of the cluster. */
export const storedClusterToken = 'pier-bearer-5c1d0e7a94'

const addCluster = async ({ running }: TestService, ownerId: number): Promise<string> => {
  const resolve = running.container.resolve
  const seal = makeSealCredential({
    secretBox: resolve(SecretBoxToken),
    codec: resolve(CredentialCodecToken),
    entropy: resolve(EntropyToken),
  })
  const server = 'https://127.0.0.1:1'
  const { ref, box } = await seal(ownerId as AccountId, {
    server,
    authorityPem: undefined,
    tlsServerName: undefined,
    identity: { kind: 'token', token: secret(storedClusterToken) },
  })
  const inserted = await resolve(ClusterStoreToken).insert({
    ownerId: ownerId as AccountId,
    name: 'pier',
    displayName: 'Pier',
    uid: populatedClusterUid,
    externalId: '',
    provider: 'Generic',
    vendor: '',
    endpoint: server,
    location: '',
    project: '',
    kubernetesVersion: 'v1.33.0',
    nodeCount: 1,
    managers: ['Platform'],
    hubClusterUid: '',
    managedClusterName: '',
    infraNamespace: '',
    status: { phase: 'Active', reason: undefined, message: '' },
    impersonatesUsers: false,
    createdAt: new Date(0),
    checkedAt: undefined,
    importedBy: undefined,
    ref,
    sealedCredential: box,
  })
  if (isLeft(inserted)) throw new Error(inserted.left.message)
  return inserted.right.name
}

const teamIdsOf = async (service: TestService, org: string, token: string): Promise<Populated['teamIds']> => {
  const { json } = await must('teams', service.send('GET', `/api/v1/orgs/${org}/teams`, { token }))
  return Object.fromEntries(
    (json as { name: string; id: number }[]).map(({ name, id }) => [name, id]),
  ) as unknown as Populated['teamIds']
}

const populate = async (service: TestService): Promise<Populated> => {
  const userIds = await addPeople(service)
  const alice = await service.tokenFor('alice')
  const as = (body: unknown) => ({ token: alice, body })
  const org = await must(
    'org',
    service.send('POST', '/api/v1/orgs', as({ username: 'harbour', visibility: 'private' })),
  )
  await must(
    'hidden',
    service.send('POST', '/api/v1/orgs', {
      token: service.adminToken,
      body: { username: 'lagoon', visibility: 'private' },
    }),
  )
  const teamIds = await teamIdsOf(service, 'harbour', alice)
  await must('editor', service.send('PUT', `/api/v1/teams/${teamIds.Editors}/members/eddie`, { token: alice }))
  await must('viewer', service.send('PUT', `/api/v1/teams/${teamIds.Viewers}/members/vera`, { token: alice }))
  const role = await must(
    'role',
    service.send(
      'POST',
      '/api/v1/authz/roles?org=harbour',
      as({ name: 'lookout', permissions: [{ namespace: 'cluster_mgmt', action: 'view clusters' }] }),
    ),
  )
  await must(
    'robot',
    service.send('POST', '/api/v1/orgs/harbour/robots', as({ name: 'lifter', team_ids: [teamIds.Viewers] })),
  )
  await must(
    'repository',
    service.send(
      'POST',
      '/api/v1/orgs/harbour/chartrepositories',
      as({ name: 'pantry', url: 'https://127.0.0.1:1/charts' }),
    ),
  )
  for (const login of [...people, 'admin']) {
    const body = { name: 'backups', type: 'GoogleOAuth', googleOAuth: { accessToken: 'a token', scopes: ['read'] } }
    await must(
      'credential',
      service.send('POST', '/api/v1/user/credentials', { token: await service.tokenFor(login), body }),
    )
  }
  const orgId = (org.json as { id: number }).id
  const cluster = await addCluster(service, orgId)
  await plantLicenseAuthority(service)
  const contract = await plantContract(service, 'harbour', populatedClusterUid, 'Mooring')
  await plantUsage(service, { name: 'harbour', id: orgId, clusterUid: populatedClusterUid, text: 'Mooring' })
  return {
    ...contract,
    org: 'harbour',
    orgId,
    hiddenOrg: 'lagoon',
    cluster,
    robot: 'lifter',
    repository: 'pantry',
    teamIds,
    roleId: (role.json as { id: number }).id,
    userIds,
  }
}

/**
 * The real service of a vendor, which has every route but those of a marketplace, with an organization, its people by
 * level, a role, a cluster, a contract and usage.
 */
export const startPopulatedService = async (
  settings: Readonly<Record<string, string>> = {},
): Promise<PopulatedService> => {
  const databasePath = await migratedSqlitePath()
  const service = await startService({
    settings: {
      MOORAGE_DATABASE_URL: `sqlite:${databasePath}`,
      MOORAGE_DEPLOYMENT_TYPE: 'VendorHosted',
      MOORAGE_BILLING_ENABLED: 'true',
      MOORAGE_USAGE_REPORTERS: 'anyone',
      ...settings,
    },
  })
  const world = await populate(service)
  const rows: PopulatedService['rows'] = (statement, ...binds) =>
    readSqliteFile(databasePath, (file) => file.prepare(statement).all(...binds) as Record<string, unknown>[])
  const write: PopulatedService['write'] = (statement, ...binds) =>
    writeSqliteFile(databasePath, (file) => file.prepare(statement).run(...binds))
  return { ...service, world, databasePath, rows, write }
}
