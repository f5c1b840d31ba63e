import { makeSqlDomainStore } from '../../adapters/sql/identity-providers/domain-store.ts'
import { makeSqlIdentityStores } from '../../adapters/sql/identity/identity-stores.ts'
import { makeSqlMembershipStore } from '../../adapters/sql/organizations/membership-store.ts'
import { makeSqlOrganizationStore } from '../../adapters/sql/organizations/organization-store.ts'
import { makeSqlTeamStore } from '../../adapters/sql/organizations/team-store.ts'
import { makeSqlProvisionedGroupStore } from '../../adapters/sql/provisioning/group-store.ts'
import { provisioningMigrations } from '../../adapters/sql/provisioning/migrations.ts'
import { makeSqlProvisionedUserStore } from '../../adapters/sql/provisioning/user-store.ts'
import {
  ProvisionedGroupStorePort,
  ProvisionedUserStorePort,
  ProvisioningUnitOfWorkPort,
} from '../../core/provisioning/ports.ts'
import { provisioningPlugin } from '../../plugins/provisioning/plugin.ts'
import { bind, lazily } from '../part/binding.ts'
import { definePart } from '../part/part.ts'
import { FreshUserPort } from './identity/part.ts'
import { bindMailingUnitOfWork } from './units-of-work.ts'

/** Users and groups that directories of organizations manage. */
export const part = definePart({
  plugin: provisioningPlugin,
  migrations: provisioningMigrations,
  tags: [
    {
      name: 'Provisioning',
      description: 'Users and groups that the directory of an organization manages, by SCIM 2.0.',
      after: 'Identity - Organizations & Teams',
    },
  ],
  provide(boot) {
    const { database } = boot
    const stores = lazily(() => ({
      memberships: makeSqlMembershipStore(database),
      organizations: makeSqlOrganizationStore(database, boot.heldObjects),
      teams: makeSqlTeamStore(database),
      users: makeSqlProvisionedUserStore(database),
      groups: makeSqlProvisionedGroupStore(database),
      domains: makeSqlDomainStore(database),
    }))
    return [
      bind(ProvisionedUserStorePort, {}, () => stores().users(database)),
      bind(ProvisionedGroupStorePort, {}, () => stores().groups(database)),
      bindMailingUnitOfWork(
        database,
        ProvisioningUnitOfWorkPort,
        ({ freshUser }) => {
          const identity = makeSqlIdentityStores(database, boot.heldObjects, freshUser)
          const { memberships, organizations, teams, users, groups, domains } = stores()
          return (tx) => ({
            ...identity(tx),
            memberships: memberships(tx),
            organizations: organizations(tx),
            teams: teams(tx),
            provisionedUsers: users(tx),
            provisionedGroups: groups(tx),
            domains: domains(tx),
          })
        },
        { freshUser: FreshUserPort },
      ),
    ]
  },
})
