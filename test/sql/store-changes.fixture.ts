import fc from 'fast-check'
import { makeSqlChartRepositoryStore } from '../../adapters/sql/packages/chart-repository-store.ts'
import { makeSqlClientOrgStore } from '../../adapters/sql/client-orgs/client-org-store.ts'
import { makeSqlCloudCredentialStore } from '../../adapters/sql/clouds/cloud-credential-store.ts'
import { makeSqlClusterStore } from '../../adapters/sql/clusters/cluster-store.ts'
import { makeSqlContractStore } from '../../adapters/sql/contracts/contract-store.ts'
import { changeableOfUser } from '../../adapters/sql/identity/rows.ts'
import { makeSqlPageSizeStore } from '../../adapters/sql/identity/settings-store.ts'
import { makeSqlUserStore } from '../../adapters/sql/identity/user-store.ts'
import { columnsOf, pick, present, without } from '../../adapters/sql/kit/columns.ts'
import { makeSqlProviderStore } from '../../adapters/sql/identity-providers/provider-store.ts'
import { makeSqlSubscriptionStore } from '../../adapters/sql/marketplace/subscription-store.ts'
import { makeSqlRegistrationStore } from '../../adapters/sql/metrics-proxy/registration-store.ts'
import { profileOfOrganization } from '../../adapters/sql/organizations/rows.ts'
import { makeSqlPolicyStore } from '../../adapters/sql/organizations/policy-store.ts'
import { makeSqlRobotStore } from '../../adapters/sql/organizations/robot-store.ts'
import { makeSqlTeamStore } from '../../adapters/sql/organizations/team-store.ts'
import { makeSqlDriverConfigurationStore } from '../../adapters/sql/packages/driver-configuration-store.ts'
import { makeSqlProvisionedGroupStore } from '../../adapters/sql/provisioning/group-store.ts'
import { makeSqlProvisionedUserStore } from '../../adapters/sql/provisioning/user-store.ts'
import { makeSqlRoleStore } from '../../adapters/sql/authz/role-store.ts'
import { makeSqlBrandingStore } from '../../adapters/sql/kernel/site-store.ts'
import { roles } from '../../adapters/sql/tables/authz.ts'
import { chartRepositories, packageDrivers } from '../../adapters/sql/tables/packages.ts'
import { clientOrgClusters } from '../../adapters/sql/tables/client-orgs.ts'
import { cloudCredentials } from '../../adapters/sql/tables/clouds.ts'
import { clusters } from '../../adapters/sql/tables/clusters.ts'
import { contracts } from '../../adapters/sql/tables/contracts.ts'
import { identityProviders } from '../../adapters/sql/tables/identity-providers.ts'
import { pageSizes, users } from '../../adapters/sql/tables/identity.ts'
import { marketplaceSubscriptions } from '../../adapters/sql/tables/marketplace.ts'
import { metricsRegistrations } from '../../adapters/sql/tables/metrics-proxy.ts'
import { organizations, robotAccounts, teams } from '../../adapters/sql/tables/organizations.ts'
import { provisionedGroups, provisionedUsers } from '../../adapters/sql/tables/provisioning.ts'
import { branding } from '../../adapters/sql/tables/kernel.ts'
import { makeSecretBox, newKeyring, openKeyring } from '../../adapters/security/keyring.ts'
import { clusterPhases, hostingProviders, phaseReasons } from '../../core/clusters/types.ts'
import type { AccountId } from '../../core/kernel/ids.ts'
import type { GroupContent } from '../../core/provisioning/types.ts'
import { newClientCluster, newClientOrg } from '../client-orgs/client-org-store.suite.ts'
import { newCluster } from '../clusters/cluster-store.suite.ts'
import { terms } from '../contracts/contract-store.fixture.ts'
import { applicationChanges } from './application-changes.fixture.ts'
import { ratingChanges } from './rating-changes.fixture.ts'
import { webhookChanges } from './webhook-changes.fixture.ts'
import type { Fields, StoreChange } from './store-change.fixture.ts'
import { at, organization, person } from './store-change.fixture.ts'
import { unwrap } from '../support/outcome.ts'

const secretBox = makeSecretBox(openKeyring(newKeyring()).wrapper)

/** Some letters have a longer lower case. */
const lowerCaseName = fc.stringMatching(/^[a-z]{1,254}$/)

/** What a caller can change in a store. */
export const storeChanges: Readonly<Record<string, StoreChange>> = {
  'a user': {
    tables: [users],
    // The search name is computed.
    columns: (({ searchName: _, ...columns }) => columns)(changeableOfUser),
    prepare: async (db) => {
      const store = makeSqlUserStore(db)(db)
      const id = await person(db)
      return async (fields) => {
        await store.update(id, fields)
        return store.byId(id)
      }
    },
  },
  'an organization': {
    tables: [organizations],
    columns: profileOfOrganization,
    prepare: async (db) => {
      const { store, id } = await organization(db)
      return async (fields) => {
        await store.update(id, fields, undefined)
        return store.findById(id)
      }
    },
  },
  'a user of a directory': {
    tables: [provisionedUsers],
    columns: pick(provisionedUsers, 'userName', 'externalId', 'attributes', 'updatedAt'),
    chosen: { userName: lowerCaseName, attributes: fc.record({ title: fc.string() }) },
    prepare: async (db) => {
      const [{ id: orgId }, id] = [await organization(db), await person(db)]
      const store = makeSqlProvisionedUserStore(db)(db)
      const content = { fullName: '', email: '', displayName: '', emails: [], isActive: true }
      const before = { ...content, userName: 'ann', externalId: undefined, attributes: {} }
      unwrap(await store.insert(orgId, id, before, at))
      return async ({ updatedAt, ...fields }) => {
        unwrap(await store.update(orgId, id, { ...before, ...fields }, updatedAt as Date))
        return store.find(orgId, id)
      }
    },
  },
  'a group of a directory': {
    tables: [provisionedGroups],
    columns: pick(provisionedGroups, 'displayName', 'externalId', 'updatedAt'),
    chosen: { displayName: lowerCaseName },
    prepare: async (db) => {
      const { id: orgId } = await organization(db)
      const team = { orgId, name: 'dev', description: '', permission: 'custom' as const, type: '', createdAt: at }
      const id = unwrap(await makeSqlTeamStore(db)(db).insert(team))
      const store = makeSqlProvisionedGroupStore(db)(db)
      unwrap(await store.insert(orgId, id, { displayName: 'Dev', externalId: undefined }, at))
      return async ({ updatedAt, ...fields }) => {
        unwrap(await store.update(orgId, id, fields as unknown as GroupContent, updatedAt as Date))
        return store.find(orgId, id)
      }
    },
  },
  'a team': {
    tables: [teams],
    columns: without(teams, 'id', 'orgId', 'lowerName', 'createdAt', 'version'),
    prepare: async (db) => {
      const { id: orgId } = await organization(db)
      const store = makeSqlTeamStore(db)(db)
      const team = { orgId, name: 'dev', description: '', permission: 'read' as const, type: '', createdAt: at }
      const id = unwrap(await store.insert(team as never))
      return async (fields) => {
        await store.update(id, fields, undefined)
        return store.findById(id)
      }
    },
  },
  'a role': {
    tables: [roles],
    columns: without(roles, 'id', 'orgId', 'lowerName', 'createdAt', 'updatedAt', 'version'),
    prepare: async (db) => {
      const { id: orgId } = await organization(db)
      const store = makeSqlRoleStore(db)(db)
      const content = { name: 'r', description: '', permissions: [], teamIds: [] }
      const role = unwrap(await store.insert(orgId, content, at))
      return async (fields) => {
        unwrap(await store.replace(role, { ...content, ...fields }, at))
        return store.get(orgId, role.id)
      }
    },
  },
  ...applicationChanges,
  ...ratingChanges,
  ...webhookChanges,
  'an identity provider': {
    tables: [identityProviders],
    columns: pick(
      identityProviders,
      'kind',
      'name',
      'displayName',
      'isActive',
      'issuer',
      'clientId',
      'ref',
      'sealedSecret',
    ),
    prepare: async (db) => {
      const store = makeSqlProviderStore(db)(db)
      const options = { scopes: [], allowsCreation: true, linksVerifiedDomains: true, groupsClaim: '', groupRules: [] }
      const shared = { kind: 'oidc', name: 'p', displayName: '', isActive: true, issuer: '', clientId: '', ref: '' }
      const content = { ...shared, options, directory: undefined }
      const id = unwrap(await store.insert(undefined, { ...content, sealedSecret: undefined } as never, at))
      let version = 1
      return async (fields) => {
        unwrap(await store.replace(undefined, id, version, { ...content, ...fields } as never, at))
        version += 1
        return store.find(undefined, id)
      }
    },
  },
  'a chart repository': {
    tables: [chartRepositories],
    // The kinds that it holds are a list, and are no text of any form.
    columns: without(chartRepositories, 'id', 'accountId', 'name', 'holds', 'createdAt', 'updatedAt', 'version'),
    prepare: async (db) => {
      const { id: accountId } = await organization(db)
      const store = makeSqlChartRepositoryStore(db)(db)
      const content = { url: '', isPlainHttp: true, description: '', username: '', holds: [], ref: '', box: undefined }
      const id = unwrap(await store.insert(accountId, 'charts' as never, content as never, at))
      let version = 0
      return async ({ plainHttp, sealedCredentials, ...fields }) => {
        const holds = version % 2 === 0 ? ['x', 'y'] : []
        const next = { ...fields, holds, isPlainHttp: plainHttp, box: sealedCredentials } as never
        await store.replace(accountId, id, (version += 1), next, at)
        const found = await store.find(accountId, 'charts' as never)
        if (found?.holds.join() !== holds.join()) throw new Error('The kinds are not saved.')
        return { ...found, plainHttp: found.isPlainHttp, sealedCredentials: found.box }
      }
    },
  },
  'a contract': {
    tables: [contracts],
    columns: without(
      contracts,
      'id',
      'ownerId',
      'documentRef',
      'documentName',
      'documentType',
      'documentSize',
      'revokedAt',
      'remindedFirstAt',
      'remindedLastAt',
      'remindedEndsAt',
      'createdAt',
      'updatedAt',
      'version',
      'termsNumber',
      'termsFrom',
      'termsRecordedAt',
      'termsRecordedBy',
    ),
    prepare: async (db) => {
      const { id: ownerId } = await organization(db)
      const store = makeSqlContractStore(db, { now: () => at })(db)
      const id = await store.insert(ownerId as never, terms(), at)
      const version = {
        number: 2,
        from: new Date(0),
        to: undefined,
        recordedAt: at,
        recordedBy: '',
        supersededAt: undefined,
      }
      return async (fields) => {
        await store.setDetails(id, fields as never, at)
        await store.setTerms(id, [{ ...version, ...fields } as never], at)
        return store.get(ownerId as never, id)
      }
    },
  },
  'the branding': {
    tables: [branding],
    columns: without(branding, 'id'),
    prepare: async (db) => {
      const store = makeSqlBrandingStore(db)(db)
      return async (fields) => {
        await store.put(fields as never)
        return store.read()
      }
    },
  },
  'a policy': {
    tables: [organizations],
    columns: without(
      organizations,
      ...(Object.keys(profileOfOrganization) as (keyof typeof profileOfOrganization)[]),
      'id',
      'orgType',
      'createdAt',
      'version',
      'policyVersion',
    ),
    prepare: async (db) => {
      const { id } = await organization(db)
      const store = makeSqlPolicyStore(db)(db)
      return async ({ twoFactorFrom, twoFactorGraceDays, ...fields }) => {
        const policy = { ...fields, secondFactorFrom: twoFactorFrom, graceDays: twoFactorGraceDays }
        const version = (await store.find(id))?.version ?? 0
        if (!(await store.replace(id, policy as never, version))) throw new Error('The policy is not replaced.')
        const found = await store.find(id)
        return { ...found, twoFactorFrom: found?.secondFactorFrom, twoFactorGraceDays: found?.graceDays }
      }
    },
  },
  'a robot account': {
    tables: [robotAccounts],
    columns: { ...without(robotAccounts, 'id', 'orgId', 'name', 'version'), isActive: users.isActive },
    prepare: async (db) => {
      const { id: orgId } = await organization(db)
      const store = makeSqlRobotStore(db)(db)
      const robot = { orgId, orgName: 'acme', name: 'deploy', description: '', createdAt: at }
      const id = unwrap(await store.insert(robot as never))
      return async (fields) => {
        await store.update(orgId, id, fields, undefined)
        return store.find(orgId, id)
      }
    },
  },
  'a cloud credential': {
    tables: [cloudCredentials],
    columns: without(cloudCredentials, 'id', 'userId', 'ownerId', 'name', 'createdAt', 'updatedAt', 'version'),
    prepare: async (db) => {
      const userId = await person(db)
      const store = makeSqlCloudCredentialStore(db)(db)
      const content = { type: '', ownerId: userId, fleetEndpoint: '', ref: '', box: new Uint8Array() }
      const id = unwrap(await store.insert(userId, 'c' as never, content as never, at))
      // The list filters by a column that the store does not return.
      const read = db.prepare({}, columnsOf(cloudCredentials), (k) => k('cloud_credentials'))
      let version = 0
      return async ({ sealedSpec, ...fields }) => {
        const next = { ...content, ...fields, box: sealedSpec }
        await store.replace(userId, id, (version += 1), next as never, at)
        return db.first(read, {})
      }
    },
  },
  'a driver configuration': {
    tables: [packageDrivers],
    columns: without(packageDrivers, 'id', 'accountId', 'clusterUid', 'createdAt', 'updatedAt'),
    prepare: async (db) => {
      const accountId = (await person(db)) as never
      const store = makeSqlDriverConfigurationStore(db)(db)
      return async ({ driver }) => store.put(accountId, 'uid', driver as never, at)
    },
  },
  'page sizes': {
    tables: [pageSizes],
    columns: without(pageSizes, 'userId'),
    prepare: async (db) => {
      const userId = await person(db)
      const store = makeSqlPageSizeStore(db)(db)
      return async (fields) => {
        await store.put(userId, fields as never)
        return store.find(userId)
      }
    },
  },
  'a cluster': {
    tables: [clusters],
    columns: {
      ...without(
        clusters,
        'id',
        'ownerId',
        'name',
        'externalId',
        'vendor',
        'createdAt',
        'importedBy',
        'version',
        'clusterSetName',
      ),
      sealedCredential: present(clusters.sealedCredential),
      checkedAt: present(clusters.checkedAt),
    },
    chosen: {
      provider: fc.constantFrom(...hostingProviders),
      phase: fc.constantFrom(...clusterPhases),
      phaseReason: fc.constantFrom('', ...phaseReasons),
    },
    prepare: async (db) => {
      const { id: ownerId } = await organization(db)
      const store = makeSqlClusterStore(db)(db)
      // What an import finds is read once, and is not changed later.
      const inserted = async (fields: Fields) => {
        await db.query((k) => k('clusters').delete())
        return unwrap(await store.insert(newCluster({ ...fields, ownerId: ownerId as never, importedBy: undefined })))
      }
      return async (fields) => {
        const { location, project, phase, phaseReason, phaseMessage, checkedAt, ref, sealedCredential, ...change } =
          fields
        const { id, version } = await inserted({ location, project })
        const { kubernetesVersion, nodeCount, managers, ...rest } = change
        const sealed = { ref, box: sealedCredential }
        const changed = unwrap(await store.change(id, version, { ...rest, sealed } as never))
        const status = { phase, reason: phaseReason === '' ? undefined : phaseReason, message: phaseMessage }
        const facts = { kubernetesVersion, nodeCount, managers }
        await store.observe(id, status as never, facts as never, checkedAt as Date)
        const [found, box] = [await store.get(id), await store.sealed(id, changed.version)]
        return {
          ...found,
          phase: found?.status.phase,
          phaseReason: found?.status.reason ?? '',
          phaseMessage: found?.status.message,
          ref: box?.ref,
          sealedCredential: box?.box,
        }
      }
    },
  },
  'a cluster of a client organization': {
    tables: [clientOrgClusters],
    columns: {
      ...without(clientOrgClusters, 'id', 'clientOrgId', 'name', 'state', 'accountLayout', 'message', 'version'),
      gatewayOfId: present(clientOrgClusters.gatewayOfId),
    },
    prepare: async (db) => {
      const store = makeSqlClientOrgStore(db)(db)
      const clientOrgId = await store.insert({ ...newClientOrg, name: 'acme' })
      const cluster = { ...newClientCluster, clientOrgId, name: 'shop' }
      await store.insertCluster(cluster)
      const [made] = await store.clustersOf(clientOrgId)
      return async (fields) => {
        await store.replanCluster(made!.id, { ...cluster, ...(fields as object) })
        return (await store.clustersOf(clientOrgId))[0]
      }
    },
  },
  'a registration of metrics': {
    tables: [metricsRegistrations],
    columns: {
      ...pick(metricsRegistrations, 'ref', 'sealedContents', 'dashboards'),
      leasedUntil: present(metricsRegistrations.leasedUntil),
    },
    chosen: { dashboards: fc.constant({ dashA: { isReady: true, proxyTokens: [{ id: 7, userId: 8 }] } }) },
    prepare: async (db) => {
      const store = makeSqlRegistrationStore(db)(db)
      const content = { ref: 'r', sealedContents: new Uint8Array([1]), dashboards: {}, leasedUntil: undefined }
      const names = { backend: '1.uid', ownerId: 1 as AccountId, tenantId: 1 as AccountId, clusterUid: 'uid' }
      const id = (await store.insert({ ...names, ...content }, at)) ?? 0
      return async (fields) => {
        const before = await store.find(names.backend, 'dashA', at)
        await store.change(id, before?.registration.version ?? 0, { ...content, ...fields }, at)
        return (await store.find(names.backend, 'dashA', at))?.registration
      }
    },
  },
  'a subscription': {
    tables: [marketplaceSubscriptions],
    columns: {
      ...without(
        marketplaceSubscriptions,
        'id',
        'ref',
        'marketplace',
        'keyHash',
        'applicationId',
        'alerts',
        'consoleUrl',
        'meteringToken',
        'reports',
        'formerRef',
        'floorTicks',
        'createdAt',
        'updatedAt',
      ),
      error: present(marketplaceSubscriptions.error),
      accountId: present(marketplaceSubscriptions.accountId),
      claimedBy: present(marketplaceSubscriptions.claimedBy),
      alertedAt: present(marketplaceSubscriptions.alertedAt),
      reportedAt: present(marketplaceSubscriptions.reportedAt),
    },
    prepare: async (db) => {
      const store = makeSqlSubscriptionStore(db, secretBox)(db)
      const pending = { state: 'Pending', isProvisioned: false, isTombstone: false } as const
      const fresh = { ...pending, installerRef: undefined, lastTicks: undefined }
      const key = { marketplace: 'CloudA', text: 'k' } as const
      const { id } = await store.obtain({ key, ref: 'r', applicationId: '' }, fresh, at)
      return async ({ state, installerRef, isProvisioned, isTombstone, lastTicks, ...fields }) => {
        const reference = installerRef === '' ? undefined : installerRef
        const lifecycle = { state, installerRef: reference, isProvisioned, isTombstone, lastTicks }
        await store.update(id, { ...fields, lifecycle } as never, at)
        const found = await store.findById(id)
        return { ...found, installerRef: found?.installerRef ?? '' }
      }
    },
  },
}
