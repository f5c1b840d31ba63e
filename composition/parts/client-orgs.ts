import { isLeft, right } from 'fp-ts/lib/Either.js'
import { makeSqlClientOrgStore } from '../../adapters/sql/client-orgs/client-org-store.ts'
import { clientOrgsMigrations } from '../../adapters/sql/client-orgs/migrations.ts'
import { makeSqlClusterStore } from '../../adapters/sql/clusters/cluster-store.ts'
import { makeSqlEmailStore } from '../../adapters/sql/identity/email-store.ts'
import { makeSqlUserStore } from '../../adapters/sql/identity/user-store.ts'
import { makeSqlMembershipStore } from '../../adapters/sql/organizations/membership-store.ts'
import { makeSqlOrganizationStore } from '../../adapters/sql/organizations/organization-store.ts'
import { makeSqlTeamStore } from '../../adapters/sql/organizations/team-store.ts'
import { makeSqlTaskChanges } from '../../adapters/sql/tasks/task-store.ts'
import { SpokeStuck } from '../../core/hubs/spokes/spoke-steps.ts'
import { ClockPort, PausePort } from '../../core/kernel/clock.ts'
import { notYet, over, pollWithin } from '../../core/kernel/concurrency.ts'
import type { AccountId, UserId } from '../../core/kernel/ids.ts'
import { makeMemberTokens } from '../../core/client-orgs/member-tokens.ts'
import { auditOf } from '../../core/client-orgs/types.ts'
import { OwnSpokesPort } from '../../core/clusters/hubs/ports.ts'
import { ClusterDependentsPort, MemberTokensPort } from '../../core/clusters/ports.ts'
import { CachesPort } from '../../core/kernel/cache.ts'
import { clientOrgType } from '../../core/organizations/types.ts'
import { ClientOrgStorePort, ClientOrgUnitOfWorkPort } from '../../core/client-orgs/ports.ts'
import { withImportWatcher } from '../../core/clusters/imports.ts'
import { optional } from '../../core/kernel/port-key.ts'
import { makeOrganizationFounder } from '../../core/organizations/organizations/organizations.ts'
import { clientOrgsPlugin } from '../../plugins/client-orgs/plugin.ts'
import { bind, lazily } from '../part/binding.ts'
import { StartRefused } from '../part/boot.ts'
import type { AnyPart, DemoOrganization, DemoSeeder, DemoWorld } from '../part/part.ts'
import { definePart, demoDescription } from '../part/part.ts'
import { operatorCall } from '../part/operator.ts'
import { BindImportWatcherPort } from './clusters/part.ts'
import { bindMailingUnitOfWork } from './units-of-work.ts'

/** As the vendor of the demonstration names them. */
const demoHub = 'hub'
const demoSpoke = 'quay'

type Removing = Parameters<NonNullable<AnyPart['demoRemoval']>>[0]

interface DemoTask {
  readonly id: string
  readonly kind: string
  readonly state: string
  readonly message: string
  readonly error?: string
}

/** How long tasks of the demonstration may take together. */
const longestMilliseconds = 180_000

/** Runs `work`, and waits for the tasks of the vendor that it began. Throws if one of them has failed. */
const withTasks = async ({ container, send, vendor }: Removing, work: () => Promise<unknown>): Promise<void> => {
  const read = async () => (await send('GET', `/tasks?account=${vendor.name}&limit=1000`)) as readonly DemoTask[]
  const before = new Set((await read()).map(({ id }) => id))
  await work()
  const ended = await pollWithin<string | undefined>(
    { pause: container.resolve(PausePort) },
    { signal: new AbortController().signal },
    { patienceMs: longestMilliseconds, stuck: SpokeStuck, say: undefined },
    async () => {
      const tasks = (await read()).filter(({ id }) => !before.has(id))
      const failed = tasks.find(({ state }) => state === 'failed')
      if (failed !== undefined) return right(over(`The task ${failed.kind} failed: ${failed.error ?? ''}`))
      const under = tasks.filter(({ state }) => state === 'queued' || state === 'running')
      const shown = under.map(({ kind, message }) => `${kind} (${message})`).join(', ')
      return right(under.length === 0 ? over(undefined) : notYet(`Tasks have not ended in three minutes: ${shown}.`))
    },
  )
  const problem = isLeft(ended) ? ended.left.message : ended.right
  if (problem !== undefined) throw new StartRefused([problem])
}

/** A client organization without clusters: no hub is asked. */
const insertDemoClient = async (world: DemoWorld, { name, fullName, people }: DemoOrganization): Promise<void> => {
  const { container, now, send, vendor } = world
  const vendorId = (await world.idOf(vendor.name)) as AccountId
  const { id } = (await send('GET', `/users/${people[0]?.login ?? ''}`)) as { readonly id: UserId }
  const inserted = await container
    .resolve(ClientOrgUnitOfWorkPort)
    .run(operatorCall('demo.seed'), async ({ clientOrgs, founder, audit }) => {
      const profile = { fullName, description: demoDescription }
      const founded = await founder.found({ name, profile, orgType: clientOrgType, ownerId: id }, now)
      if (isLeft(founded)) return founded
      const clientOrg = { orgId: founded.right.id, name, vendorId, adminId: id, createdAt: now }
      await clientOrgs.insert({ ...clientOrg, isShared: false, settling: '' })
      await audit.record(auditOf(clientOrg, 'client_org.created', { admin: id, clusters: [] }))
      return right(undefined)
    })
  if (isLeft(inserted)) throw new Error(inserted.left.message)
}

const seedClients: DemoSeeder = async (world) => {
  const { clients, hub, send, tell, vendor } = world
  if (hub === undefined) {
    for (const client of clients) {
      tell(`client organization ${client.name}`)
      await insertDemoClient(world, client)
    }
    return
  }
  const basicInfo = (name: string, displayName: string) => ({ name, displayName })
  tell('hub')
  await send('POST', `/clustersv2/${vendor.name}/import`, {
    basicInfo: basicInfo(demoHub, 'Hub'),
    provider: { accessConfig: hub.hub },
  })
  tell(`spoke ${demoSpoke}`)
  const spoke = { basicInfo: basicInfo(demoSpoke, 'Quay'), provider: { accessConfig: hub.spoke } }
  await withTasks(world, () => send('POST', `/clusters/${vendor.name}/${demoHub}/import-spoke`, spoke))
  const { uid } = (await send('GET', `/clusters/${vendor.name}/${demoHub}`)) as { readonly uid: string }
  tell('client organizations')
  await withTasks(world, async () => {
    for (const { name, fullName, people } of clients)
      await send('POST', '/user/client/create', {
        clientOrg: { orgName: name, orgFullName: fullName, orgType: 'client', description: demoDescription },
        hubClusterOwnerName: vendor.name,
        hubClusterUID: uid,
        userPermission: {
          userName: people[0]?.login,
          permissions: [{ name: demoSpoke, roleType: 'ClusterRole', roleRefName: 'admin' }],
        },
      })
  })
}

/** Removes the namespaces of the client organizations, then the spoke from the hub. */
const removeClients = async (world: Removing): Promise<void> => {
  const { send, tell, vendor } = world
  const clients = (await send('GET', '/user/clients')) as readonly { readonly id: number; readonly username: string }[]
  await withTasks(world, async () => {
    for (const { id, username } of clients) {
      tell(`client organization ${username}`)
      await send('DELETE', `/user/client/delete/${id}`)
    }
  })
  const clusters = (await send('GET', `/clustersv2/${vendor.name}`)) as readonly { readonly name: string }[]
  if (!clusters.some(({ name }) => name === demoSpoke)) return
  tell(`spoke ${demoSpoke}`)
  await withTasks(world, () =>
    send('POST', `/clusters/${vendor.name}/${demoHub}/remove-managed-cluster`, { clusterName: demoSpoke }),
  )
}

/** Client organizations, on the clusters of hubs. */
export const part = definePart({
  plugin: clientOrgsPlugin,
  demo: seedClients,
  demoRemoval: removeClients,
  migrations: clientOrgsMigrations,
  tags: [
    {
      name: 'Client Organizations',
      description: 'Customers with namespaces on shared clusters, for site admins.',
      after: 'Multi-cluster',
    },
  ],
  provide(boot) {
    const { database } = boot
    const stores = lazily(() => ({
      clientOrgs: makeSqlClientOrgStore(database),
      clusters: makeSqlClusterStore(database),
      emails: makeSqlEmailStore(database),
      memberships: makeSqlMembershipStore(database),
      organizations: makeSqlOrganizationStore(database, boot.heldObjects),
      tasks: makeSqlTaskChanges(database, boot.instanceId),
      teams: makeSqlTeamStore(database),
      users: makeSqlUserStore(database),
    }))
    return [
      bind(ClientOrgStorePort, {}, () => stores().clientOrgs(database)),
      bind(ClusterDependentsPort, { clientOrgs: ClientOrgStorePort }, ({ clientOrgs }) => clientOrgs),
      bind(
        MemberTokensPort,
        { caches: CachesPort, clientOrgs: ClientOrgStorePort, clock: ClockPort, spokes: OwnSpokesPort },
        makeMemberTokens,
      ),
      bindMailingUnitOfWork(
        database,
        ClientOrgUnitOfWorkPort,
        ({ watcher }) =>
          (tx, audit) => {
            const { clientOrgs, clusters, emails, memberships, organizations, tasks, teams, users } = stores()
            const organizationsIn = organizations(tx)
            const founding = {
              organizations: organizationsIn,
              memberships: memberships(tx),
              teams: teams(tx),
              audit,
            }
            return {
              clientOrgs: clientOrgs(tx),
              clusters: watcher === undefined ? clusters(tx) : withImportWatcher(clusters(tx), watcher(tx, audit)),
              emails: emails(tx),
              founder: makeOrganizationFounder(founding),
              organizations: organizationsIn,
              tasks: tasks(tx),
              users: users(tx),
            }
          },
        { watcher: optional(BindImportWatcherPort) },
      ),
    ]
  },
})
