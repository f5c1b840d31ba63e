import { authzMigrations } from '../../adapters/sql/authz/migrations.ts'
import { isLeft } from 'fp-ts/lib/Either.js'
import { makeSqlRightsStore } from '../../adapters/sql/authz/access-context.ts'
import {
  AccessMemoryPort,
  makeAccessMemory,
  noAccessMemory,
  rememberFacts,
} from '../../adapters/sql/authz/access-memory.ts'
import { makeAccessRevisions } from '../../adapters/sql/authz/access-revisions.ts'
import { makeSqlAuthorizationFacts } from '../../adapters/sql/authz/authorization-facts.ts'
import { makeSqlRoleStore, roleObjectRows } from '../../adapters/sql/authz/role-store.ts'
import { makeAuthorizer } from '../../core/authz/authorizer.ts'
import {
  AuthorizationFactsPort,
  AuthorizationSchemaPort,
  AuthorizerPort,
  CataloguePort,
  RoleStorePort,
  RoleUnitOfWorkPort,
} from '../../core/authz/ports.ts'
import { compileSchema } from '../../core/authz/schema.ts'
import { CachesPort } from '../../core/kernel/cache.ts'
import { ClockPort } from '../../core/kernel/clock.ts'
import { authzPlugin } from '../../plugins/authz/plugin.ts'
import { StartRefused } from '../part/boot.ts'
import { bind, lazily } from '../part/binding.ts'
import { definePart } from '../part/part.ts'
import { spansOf } from '../part/spans.ts'
import { bindUnitOfWork } from './units-of-work.ts'

/** Rights: the authorizer, custom roles and direct grants. */
export const part = definePart({
  plugin: authzPlugin,
  spans: [
    spansOf(AuthorizerPort, {
      authorize: {
        name: 'authorize',
        attributes: ([, object, relation]) => ({
          'moorage.relation': String(relation),
          'moorage.object_type': (object as { readonly type: string }).type,
        }),
      },
    }),
  ],
  async demo({ customers, send, tell }) {
    for (const { name } of customers) {
      tell(`role of ${name}`)
      const teams = (await send('GET', `/orgs/${name}/teams`)) as readonly {
        readonly id: number
        readonly name: string
      }[]
      await send('POST', `/authz/roles?org=${name}`, {
        name: 'cluster users',
        permissions: [
          { namespace: 'cluster_mgmt', action: 'view clusters' },
          { namespace: 'cluster_mgmt', action: 'connect to clusters' },
        ],
        teamIDs: teams.flatMap((team) => (team.name === 'on-call' ? [team.id] : [])),
      })
    }
  },
  migrations: authzMigrations,
  objectRows: [roleObjectRows],
  tags: [
    {
      name: 'Authorization',
      description: 'Allowed-permission queries and custom roles within an organization.',
      after: 'Administration',
    },
  ],
  provide({ database, catalogue, objectRows, settings }) {
    const roles = lazily(() => makeSqlRoleStore(database))
    const rights = lazily(() => makeSqlRightsStore(database))
    return [
      bind(CataloguePort, {}, () => catalogue),
      bind(AuthorizationSchemaPort, { catalogue: CataloguePort }, ({ catalogue }) => {
        const schema = compileSchema(catalogue)
        if (isLeft(schema)) throw new StartRefused(schema.left)
        return schema.right
      }),
      bind(AccessMemoryPort, { caches: CachesPort }, ({ caches }) =>
        settings.accessMemory === 'off' ? noAccessMemory : makeAccessMemory(makeAccessRevisions(database), caches),
      ),
      bind(AuthorizationFactsPort, { memory: AccessMemoryPort }, ({ memory }) => {
        const { objectTypes } = catalogue
        const facts = makeSqlAuthorizationFacts(database, objectTypes, objectRows)(database)
        return rememberFacts(facts, memory, objectTypes, objectRows)
      }),
      bind(
        AuthorizerPort,
        { schema: AuthorizationSchemaPort, facts: AuthorizationFactsPort, clock: ClockPort },
        makeAuthorizer,
      ),
      bind(RoleStorePort, {}, () => roles()(database)),
      bindUnitOfWork(database, RoleUnitOfWorkPort, () => (tx) => ({ roles: roles()(tx), rights: rights()(tx) })),
    ]
  },
})
