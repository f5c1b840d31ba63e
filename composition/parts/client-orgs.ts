import { makeSqlAuditTrail } from '../../adapters/sql/audit/audit-trail.ts'
import { makeSqlClientOrgStore } from '../../adapters/sql/client-orgs/client-org-store.ts'
import { clientOrgsMigrations } from '../../adapters/sql/client-orgs/migrations.ts'
import { makeSqlClusterStore } from '../../adapters/sql/clusters/cluster-store.ts'
import { makeSqlUnitOfWork } from '../../adapters/sql/engine/unit-of-work.ts'
import { makeSqlEmailStore } from '../../adapters/sql/identity/email-store.ts'
import { makeSqlUserStore } from '../../adapters/sql/identity/user-store.ts'
import { makeSqlMembershipStore } from '../../adapters/sql/organizations/membership-store.ts'
import { makeSqlOrganizationStore } from '../../adapters/sql/organizations/organization-store.ts'
import { makeSqlTeamStore } from '../../adapters/sql/organizations/team-store.ts'
import { makeSqlTaskChanges } from '../../adapters/sql/tasks/task-store.ts'
import { AuditChainToken } from '../../core/audit/ports.ts'
import type { ClientOrgStores } from '../../core/client-orgs/ports.ts'
import { ClientOrgStoreToken, ClientOrgUnitOfWorkToken } from '../../core/client-orgs/ports.ts'
import { withImportWatcher } from '../../core/clusters/imports.ts'
import { makeUserFounder } from '../../core/identity/accounts/users.ts'
import { DomainNamesToken, PasswordHasherToken, UserFounderToken } from '../../core/identity/ports.ts'
import { EntropyToken } from '../../core/kernel/secret.ts'
import { optional } from '../../core/kernel/token.ts'
import { notifyAfterCommit } from '../../core/mail/delivery.ts'
import { OutboxNotifierToken } from '../../core/mail/ports.ts'
import { makeOrganizationFounder } from '../../core/organizations/organizations/organizations.ts'
import { clientOrgsPlugin } from '../../plugins/client-orgs/plugin.ts'
import { bind, lazily } from '../binding.ts'
import { definePart } from '../part.ts'
import { BindImportWatcherToken } from './clusters/part.ts'
import { BindMailOutboxToken } from './mail/part.ts'

/** Client organizations, on the clusters of hubs. */
export const part = definePart({
  plugin: clientOrgsPlugin,
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
      bind(ClientOrgStoreToken, {}, () => stores().clientOrgs(database)),
      bind(
        UserFounderToken,
        {
          domains: DomainNamesToken,
          entropy: EntropyToken,
          hasher: PasswordHasherToken,
        },
        makeUserFounder,
      ),
      bind(
        ClientOrgUnitOfWorkToken,
        {
          chain: AuditChainToken,
          notifier: OutboxNotifierToken,
          outbox: BindMailOutboxToken,
          watcher: optional(BindImportWatcherToken),
        },
        ({ chain, notifier, outbox, watcher }) => {
          const unitOfWork = makeSqlUnitOfWork<ClientOrgStores>(
            database,
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
                mail: outbox(tx),
                organizations: organizationsIn,
                tasks: tasks(tx),
                users: users(tx),
                audit,
              }
            },
            makeSqlAuditTrail(database, chain),
          )
          return notifyAfterCommit(unitOfWork, notifier)
        },
      ),
    ]
  },
})
