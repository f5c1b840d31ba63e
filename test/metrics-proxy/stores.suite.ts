import type { AccountId, TokenId, UserId } from '../../core/kernel/ids.ts'
import type { NewRegistration, RegistrationStore, TenantDirectory } from '../../core/metrics-proxy/ports.ts'
import type { SuiteAbout } from '../../composition/runtime/port-tests/contract-suite.ts'
import { contractSuite } from '../../composition/runtime/port-tests/contract-suite.ts'
import { clusterNameOf, nameOf } from '../authz/account-names.ts'
import { storeFixture } from '../authz/stored-fixture.ts'
import type { Fixture } from '../authz/fixture.ts'

export interface MetricsStoresBench {
  readonly registrations: RegistrationStore
  readonly tenants: TenantDirectory
  close(): Promise<void>
}

/** Ann (1) is an admin of 11; Ben (2) belongs to 11 and 12; Cleo (3) is in a team of 12 without being a member. */
const [ann, ben, cleo] = [1, 2, 3] as UserId[] as [UserId, UserId, UserId]
const [org, otherOrg, annsAccount] = [11, 12, 1] as AccountId[] as [AccountId, AccountId, AccountId]

const fixture: Fixture = {
  users: [1, 2, 3],
  orgs: [
    {
      id: 11,
      visibility: 'private',
      members: [1, 2],
      teams: [
        { id: 111, permission: 'admin', members: [1], roleIds: [] },
        { id: 112, permission: 'read', members: [1, 2], roleIds: [] },
      ],
      roles: [],
      grants: [],
    },
    {
      id: 12,
      visibility: 'public',
      members: [2],
      teams: [{ id: 121, permission: 'owner', members: [2, 3], roleIds: [] }],
      roles: [],
      grants: [],
    },
  ],
  clusters: [
    { id: 501, ownerId: 11 },
    { id: 502, ownerId: 12 },
    { id: 503, ownerId: 1 },
  ],
  tokens: [
    { id: 71, userId: 2 },
    { id: 72, userId: 3 },
    { id: 73, userId: 1 },
  ],
}
const uidOf = (clusterId: number): string => `uid-${clusterId}`
const at = new Date('2026-11-21T08:00:00.123Z')
const later = new Date('2026-11-21T09:00:00.456Z')

const registration = (changes: Partial<NewRegistration> = {}): NewRegistration => ({
  ref: 'ref-1',
  backend: '11.uid-501',
  ownerId: org,
  tenantId: org,
  clusterUid: 'uid-501',
  sealedContents: Uint8Array.of(0, 255, 7),
  dashboards: {},
  leasedUntil: undefined,
  ...changes,
})
const withToken = (id: number, userId: UserId): NewRegistration['dashboards'] => ({
  dashA: {
    isReady: true,
    placement: { datasource: 'd', folderId: 7, projectName: 'p', folderName: 'f', issuedToken: '' },
    proxyTokens: [{ id: id as TokenId, userId }],
  },
})

const about: SuiteAbout = {
  name: 'metrics-registration-store',
  ports: ['RegistrationStore', 'TenantDirectory'],
  needs: 'The users 1 to 3, the organizations 11 and 12, a cluster of each and of user 1, and tokens of the users.',
  fill: (database) => storeFixture(database, fixture),
}

/** What stores of registrations and directories of tenants keep to. */
export const metricsStoresSuite = contractSuite<MetricsStoresBench>(about, (onBench) => {
  onBench('a registration is found as it was inserted, by its backend', async (t, { registrations }) => {
    const row = registration({ dashboards: withToken(71, ben), leasedUntil: later })
    const id = await registrations.insert(row, at)
    const found = await registrations.find(row.backend, 'dashA', at)
    t.deepEqual(
      { ...found?.registration, sealedContents: [...(found?.registration.sealedContents ?? [])] },
      { ...row, id, version: 1, sealedContents: [0, 255, 7] },
    )
    t.is(await registrations.find('12.uid-502', 'dashA', at), undefined)
    t.is(await registrations.find('11.UID-501', 'dashA', at), undefined)
  })

  onBench('of several inserts of a backend at once one succeeds', async (t, { registrations }) => {
    const inserted = await Promise.all([1, 2, 3].map(() => registrations.insert(registration(), at)))
    t.is(inserted.filter((id) => id !== undefined).length, 1)
    t.not(await registrations.insert(registration({ backend: '12.uid-501', ownerId: otherOrg }), at), undefined)
  })

  onBench('of several changes of a version at once one succeeds', async (t, { registrations }) => {
    const id = (await registrations.insert(registration(), at)) ?? 0
    const { registration: before } = (await registrations.find('11.uid-501', 'dashB', at)) ?? {}
    const changes = await Promise.all(
      ['a', 'b', 'c'].map((ref) => registrations.change(id, before?.version ?? 0, { ...registration(), ref }, later)),
    )
    t.deepEqual([...changes].sort(), [false, false, true])
    const after = (await registrations.find('11.uid-501', 'dashB', at))?.registration
    t.is(after?.version, 2)
    t.is(await registrations.remove(id, 1), false)
    t.is(await registrations.remove(id, 2), true)
    t.is(await registrations.find('11.uid-501', 'dashB', at), undefined)
  })

  onBench('a token is in force while it exists and its user is of the tenant', async (t, { registrations }) => {
    const cases = [
      { backend: '11.a', tenantId: org, dashboards: withToken(71, ben), isInForce: true },
      { backend: '11.b', tenantId: org, dashboards: withToken(72, cleo), isInForce: false },
      { backend: '12.c', tenantId: otherOrg, dashboards: withToken(72, cleo), isInForce: false },
      { backend: '11.d', tenantId: org, dashboards: withToken(79, ben), isInForce: false },
      { backend: '1.e', tenantId: annsAccount, dashboards: withToken(73, ann), isInForce: true },
      { backend: '1.f', tenantId: annsAccount, dashboards: withToken(71, ben), isInForce: false },
      { backend: '11.g', tenantId: org, dashboards: {}, isInForce: false },
    ]
    for (const { isInForce, ...row } of cases) {
      await registrations.insert(registration(row), at)
      t.is((await registrations.find(row.backend, 'dashA', at))?.hasToken, isInForce, row.backend)
      t.is((await registrations.find(row.backend, 'dashB', at))?.hasToken, false, `${row.backend} at the other`)
    }
  })

  onBench('an identifier names a cluster of its owner, for a caller', async (t, { tenants }) => {
    const asked = [
      { owner: org, uid: uidOf(501), caller: ann, cluster: clusterNameOf(501), isMember: true },
      { owner: org, uid: uidOf(501), caller: cleo, cluster: clusterNameOf(501), isMember: false },
      { owner: org, uid: uidOf(502), caller: ann, cluster: undefined, isMember: true },
      { owner: otherOrg, uid: uidOf(502), caller: cleo, cluster: clusterNameOf(502), isMember: false },
      { owner: annsAccount, uid: uidOf(503), caller: ann, cluster: clusterNameOf(503), isMember: true },
      { owner: annsAccount, uid: uidOf(503), caller: ben, cluster: clusterNameOf(503), isMember: false },
    ]
    for (const { owner, uid, caller, cluster, isMember } of asked) {
      const found = await tenants.find(owner, uid, caller)
      t.deepEqual(
        [found?.ownerName, found?.clusterName, found?.isMember, found?.isClientOrganization],
        [nameOf(owner), cluster, isMember, false],
        `${owner} ${uid} ${caller}`,
      )
    }
    t.is(await tenants.find(999 as AccountId, uidOf(501), ann), undefined)
  })

  onBench('a caller gets the records of the own accounts only, with the own rights there', async (t, { tenants }) => {
    const ofAnn = await tenants.ofCaller(uidOf(501), ann)
    t.deepEqual(
      ofAnn.map(({ name, uid, context }) => [name, uid, context.accountId, context.level]),
      [[clusterNameOf(501), uidOf(501), org, 'admin']],
    )
    t.deepEqual(
      (await tenants.ofCaller(uidOf(501), ben)).map(({ context }) => context.level),
      ['read'],
    )
    t.deepEqual(await tenants.ofCaller(uidOf(502), ann), [])
    t.deepEqual(await tenants.ofCaller(uidOf(502), cleo), [])
    t.deepEqual(
      (await tenants.ofCaller(uidOf(503), ann)).map(({ context }) => [context.accountKind, context.level]),
      [['user', 'owner']],
    )
    t.is(await tenants.has(otherOrg, uidOf(502)), true)
    t.is(await tenants.has(org, uidOf(502)), false)
  })
})
